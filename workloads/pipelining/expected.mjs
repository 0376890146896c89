// What is asked of this server, and what a recording of it must say.
const path = [{ io: 'timer', from: 'wait', ready: 'due', begin: 'woke' }];

export default {
  drive: [{ repeat: 4, send: [{ pipeline: [{ path: '/slow' }, { path: '/quick' }] }] }],
  routes: {
    'GET /slow': { path },
    // Its sink is the call of `end`; the bytes leave only after those of the first response.
    'GET /quick': { path },
  },
};
