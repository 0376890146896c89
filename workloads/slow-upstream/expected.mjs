// What is asked of this server, and what a recording of it must say.
const path = [
  {
    io: 'read',
    resource: 'upstream',
    from: ['ask', 'received'],
    ready: 'sentBack',
    begin: 'answered',
  },
];

export default {
  servers: ['server.cjs', 'server.mjs'],
  warm: ['/slow', '/undici'],
  drive: [
    { repeat: 4, send: [{ path: '/slow' }] },
    { repeat: 4, send: [{ path: '/undici' }] },
  ],
  routes: {
    'GET /slow': { path },
    'GET /undici': { servers: ['server.mjs'], path },
  },
};
