// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 5, send: [{ path: '/step' }] }],
  routes: {
    'GET /step': {
      arrival: 'unstamped',
      path: [{ io: 'timer', from: 'wait', ready: 'due', begin: 'woke' }],
    },
  },
};
