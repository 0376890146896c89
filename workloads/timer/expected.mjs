// What is asked of this server, and what a recording of it must say.
const path = [{ io: /^timers?$/, resource: /timer/, from: 'wait', ready: 'due', begin: 'woke' }];

export default {
  servers: ['server.mjs'],
  drive: [
    { repeat: 3, send: [{ path: '/callback' }] },
    { repeat: 3, send: [{ path: '/promise' }] },
    { repeat: 3, send: [{ path: '/wrapped' }] },
    // All due in one run of the timer list: each must come out as its own.
    { repeat: 3, send: [{ path: '/callback' }, { path: '/promise' }, { path: '/wrapped' }] },
  ],
  routes: {
    'GET /callback': { path },
    'GET /promise': { path },
    'GET /wrapped': { path },
  },
};
