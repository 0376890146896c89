// What is asked of this server, and what a recording of it must say.
/** From the request for a thread until one was free. */
const waited = ({ freed, done, stat }) => [freed - stat, done - stat];

export default {
  variants: [{ UV_THREADPOOL_SIZE: '1' }, { UV_THREADPOOL_SIZE: '4' }],
  drive: [{ repeat: 4, send: [{ path: '/reports' }, { path: '/short', atMs: 10 }] }],
  routes: {
    'GET /reports': {
      path: [{ io: 'pool', from: 'read', begin: 'done' }],
    },
    'GET /short': {
      path: [
        {
          io: 'pool',
          resource: 'file',
          from: 'stat',
          ready: 'freed',
          begin: 'done',
          part: 'pool-wait',
          partNs: waited,
          // All of it was the other's doing.
          culprits: [{ route: 'GET /reports', rangeNs: ({ marks }) => waited(marks) }],
        },
      ],
    },
  },
};
