// What is asked of this server, and what a recording of it must say.
export default {
  warm: ['/slow'],
  drive: [{ repeat: 5, send: [{ path: '/slow' }] }],
  routes: {
    'GET /slow': {
      path: [
        {
          io: 'read',
          resource: 'upstream',
          from: ['ask', 'received'],
          ready: 'sentBack',
          begin: 'answered',
        },
      ],
    },
  },
};
