// What is asked of this server, and what a recording of it must say.
/** The hog was stopped so long that nobody may have looked where it was. */
const isContended = ({ marks }) => marks.hogDelay > 10e6;

const hog = (planted) => ({
  route: 'GET /export',
  location: isContended(planted) ? undefined : /serializeEverything.*server\.cjs/,
  // What the hog did not run is nobody's, and it goes on after its answer.
  rangeNs: ({ marks }) => [
    marks.hogEnded - marks.handed - marks.hogDelay,
    marks.begin - marks.sent,
  ],
});

const queued = (planted) => ({
  queue: 'read',
  rangeNs: ({ marks }) => [marks.hogEnded - marks.handed, marks.begin - marks.sent],
  culprits: [hog(planted)],
});

export default {
  drive: [{ repeat: 5, send: [{ path: '/export' }, { path: '/quick', atMs: 10 }] }],
  routes: {
    'GET /export': {
      path: [
        {
          exec: 'read',
          rangeNs: ({ marks }) => [marks.end - marks.begin, marks.ended - marks.sent],
        },
      ],
    },
    'GET /quick': {
      // Where the load was late itself, the hog is over and nobody is in the way.
      path: (planted) => (planted.marks.hogEnded > planted.marks.handed ? [queued(planted)] : []),
    },
  },
};
