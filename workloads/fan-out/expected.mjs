// What is asked of this server, and what a recording of it must say.
export default {
  warm: ['/all'],
  servers: ['server.mjs'],
  drive: [{ repeat: 5, send: [{ path: '/all' }] }],
  routes: {
    'GET /all': {
      path: [
        { io: 'timer', resource: /timer/, from: 'wait', begin: 'slept' },
        { io: 'pool', resource: 'reading', from: 'read', ready: 'written', begin: 'done' },
      ],
    },
  },
};
