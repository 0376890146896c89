// What is asked of this server, and what a recording of it must say.
const called = {
  io: 'read',
  resource: 'upstream',
  from: 'socket',
  ready: 'sentBack',
  begin: 'answered',
};
const queued = { io: /./, shared: true, from: 'ask', ready: 'socket', begin: 'socket' };

export default {
  warm: ['/ask'],
  drive: [{ repeat: 4, send: [{ path: '/ask' }, { path: '/ask', atMs: 8 }] }],
  routes: {
    'GET /ask': {
      path: ({ marks }) => (marks.socket - marks.ask > 5e6 ? [queued, called] : [called]),
    },
  },
};
