/** How long other requests of the burst were served while this one was ready and waiting. */
function servedBefore({ marks, all }) {
  const overlap = (from) =>
    all
      .filter((other) => other.path === '/work' && other.marks.begin < marks.begin)
      .map((other) => Math.max(0, other.marks.ended - Math.max(other.marks.begin, from)))
      .reduce((sum, ns) => sum + ns, 0);
  return [overlap(marks.handed), marks.begin - marks.sent];
}

const queue = {
  queue: 'read',
  rangeNs: ({ marks }) => [marks.begin - marks.handed, marks.begin - marks.sent],
  culprits: [{ route: 'GET /work', rangeNs: servedBefore }],
};
/** Reading and parsing lie before the mark `begin`, but after the one served before. */
function served({ marks, all }) {
  const ends = all.map((other) => other.marks.ended).filter((atNs) => atNs < marks.begin);
  return [marks.end - marks.begin, marks.ended - Math.max(marks.sent, ...ends)];
}

const exec = { exec: 'read', rangeNs: served };

export default {
  drive: [{ repeat: 2, send: [{ path: '/work', count: 12 }] }],
  routes: {
    // The first of the burst waits for nobody.
    'GET /work': { path: (planted) => (servedBefore(planted)[0] > 1e6 ? [queue, exec] : [exec]) },
  },
};
