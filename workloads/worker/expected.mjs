// What is asked of this server, and what a recording of it must say.
const answer = { io: 'message', resource: 'worker', shared: false };
const path = [{ ...answer, from: 'ask', ready: 'sentBack', begin: 'answered' }];

export default {
  drive: [
    { repeat: 3, send: [{ path: '/awaited' }] },
    { repeat: 3, send: [{ path: '/called' }] },
    // One on each of the two workers.
    { repeat: 3, send: [{ path: '/awaited' }, { path: '/called' }] },
  ],
  routes: {
    'GET /awaited': { path },
    'GET /called': { path },
  },
};
