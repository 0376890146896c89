// What is asked of this server, and what a recording of it must say.
const path = [{ io: /^timers?$/, resource: /timer/, from: 'wait', ready: 'due', begin: 'woke' }];

export default {
  servers: ['server.mjs'],
  drive: [{ repeat: 4, send: [{ path: '/callback' }, { path: '/promise' }, { path: '/wrapped' }] }],
  routes: {
    'GET /callback': { path },
    'GET /promise': { path },
    'GET /wrapped': { path },
  },
};
