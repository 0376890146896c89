// What is asked of this server, and what a recording of it must say.
const wait = { resource: 'upstream', from: 'ask', ready: 'sentBack', begin: 'answered' };

export default {
  servers: ['server.mjs'],
  warm: ['/cached/warm'],
  drive: [{ repeat: 4, send: [{ path: '/cached/first' }, { path: '/cached/second', atMs: 15 }] }],
  routes: {
    'GET /cached/first': { path: [{ io: 'read', shared: false, ...wait }] },
    'GET /cached/second': { path: [{ io: 'read', shared: true, ...wait }] },
  },
};
