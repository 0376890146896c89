// What is asked of this server, and what a recording of it must say.
const QUERY_NS = 40e6;

const woken = { io: 'timer', from: 'wait', begin: 'woke' };
const queried = {
  io: 'read',
  resource: 'database',
  shared: false,
  from: 'query',
  atLeastNs: QUERY_NS,
  begin: 'answered',
};

/** The end of the query before, which freed the connection. */
function freed({ connected: at }, { all }) {
  const before = all.map(({ marks }) => marks.connected).filter((atNs) => atNs < at);
  return Math.max(...before) + QUERY_NS;
}

const connected = { io: /./, shared: true, from: 'connect', ready: freed, begin: 'connected' };
const queriedThen = { ...queried, from: 'connected' };

function waited({ marks }) {
  return marks.connected - marks.connect > 10e6;
}

export default {
  needs: ['postgres'],
  servers: ['server.cjs', 'server.mjs', 'server-callback.mjs'],
  warm: ['/query'],
  drive: [
    { repeat: 3, send: [{ path: '/query' }] },
    { repeat: 3, send: [{ path: '/checkout' }, { path: '/checkout', atMs: 10 }] },
  ],
  routes: {
    'GET /query': { path: [woken, queried] },
    'GET /checkout': {
      servers: ['server.cjs', 'server.mjs'],
      path: (planted) => (waited(planted) ? [connected, queriedThen] : [queriedThen]),
    },
  },
};
