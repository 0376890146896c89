// What is asked of this server, and what a recording of it must say.
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
      path: [
        {
          queue: 'read',
          rangeNs: ({ marks }) => [marks.hogEnded - marks.handed, marks.begin - marks.sent],
          culprits: [
            {
              route: 'GET /export',
              location: /serializeEverything.*server\.cjs/,
              rangeNs: ({ marks }) => [marks.hogEnded - marks.handed, marks.hogEnded - marks.sent],
            },
          ],
        },
      ],
    },
  },
};
