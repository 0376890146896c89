// What is asked of this server, and what a recording of it must say.
export default {
  needs: ['redis'],
  servers: ['server.cjs', 'server.mjs'],
  warm: ['/slow'],
  drive: [{ repeat: 4, send: [{ path: '/slow' }] }],
  routes: {
    'GET /slow': {
      path: [
        { io: 'timer', from: 'wait', begin: 'woke' },
        {
          io: 'read',
          resource: 'redis',
          shared: false,
          from: 'ask',
          atLeastNs: 40e6,
          begin: 'answered',
        },
      ],
    },
  },
};
