// What is asked of this server, and what a recording of it must say.
export default {
  servers: ['server.cjs', 'server.mjs'],
  drive: [{ repeat: 5, send: [{ path: '/slow' }] }],
  routes: {
    'GET /slow': {
      path: [
        { io: 'pool', resource: 'opening', from: 'open', begin: 'opened' },
        { io: 'pool', resource: 'reading', from: 'read', ready: 'written', begin: 'done' },
      ],
    },
  },
};
