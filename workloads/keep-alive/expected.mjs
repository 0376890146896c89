// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 6, gapMs: 40, send: [{ path: '/step' }] }],
  routes: {
    'GET /step': { path: [{ io: 'timer', from: 'wait', ready: 'due', begin: 'woke' }] },
  },
};
