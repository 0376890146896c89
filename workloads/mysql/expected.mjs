// What is asked of this server, and what a recording of it must say.
const QUERY_NS = 40e6;

export default {
  servers: ['server.cjs', 'server.mjs'],
  warm: ['/slow'],
  drive: [{ repeat: 4, send: [{ path: '/slow' }] }],
  routes: {
    'GET /slow': {
      path: [
        { io: 'timer', from: 'wait', begin: 'woke' },
        {
          io: 'read',
          resource: 'database',
          shared: false,
          from: 'query',
          atLeastNs: QUERY_NS,
          begin: 'answered',
        },
      ],
    },
  },
};
