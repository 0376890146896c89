/** How long other requests of the burst were served while this one was ready and waiting. */
function servedBefore({ marks, all }) {
  const overlap = (from) =>
    all
      .filter((other) => other.path === '/work' && other.marks.begin < marks.begin)
      .map((other) => Math.max(0, other.marks.ended - Math.max(other.marks.begin, from)))
      .reduce((sum, ns) => sum + ns, 0);
  return [overlap(marks.handed), marks.begin - marks.sent];
}

/** Reading and parsing lie before the mark `begin`, but after the one served before. */
function turnNs({ marks, all }) {
  const ends = all.map((other) => other.marks.ended).filter((atNs) => atNs < marks.begin);
  return Math.max(marks.sent, ...ends);
}

const queue = {
  queue: 'read',
  rangeNs: (planted) => {
    const { marks } = planted;
    return [turnNs(planted) - marks.handed, marks.begin - marks.sent];
  },
  culprits: [{ route: 'GET /work', rangeNs: servedBefore }],
};
const exec = {
  exec: 'read',
  rangeNs: (planted) => {
    const { marks } = planted;
    return [marks.end - marks.begin, marks.ended - turnNs(planted)];
  },
};

export default {
  drive: [{ repeat: 2, send: [{ path: '/work', count: 12 }] }],
  routes: {
    // The first of the burst waits for nobody.
    'GET /work': { path: (planted) => (servedBefore(planted)[0] > 1e6 ? [queue, exec] : [exec]) },
  },
};
