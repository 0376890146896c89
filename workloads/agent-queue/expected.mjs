// What is asked of this server, and what a recording of it must say.
const called = {
  io: 'read',
  resource: 'upstream',
  from: ['socket', 'received'],
  ready: 'sentBack',
  begin: 'answered',
};

/** The upstream's answer to the request before, which freed the socket. */
function freed({ socket }, { all }) {
  return Math.max(...all.map(({ marks }) => marks.sentBack).filter((atNs) => atNs < socket));
}

// Other callbacks run between the answer and the mark `socket`, which so bounds from above only.
const queued = { io: /./, shared: true, from: 'ask', ready: [freed, 'socket'] };

/** The only socket was with another request when this one asked. */
function isQueued({ marks: { ask }, all }) {
  return all.some(({ marks }) => marks.socket < ask && ask < marks.end);
}

export default {
  warm: ['/ask'],
  drive: [{ repeat: 4, send: [{ path: '/ask' }, { path: '/ask', atMs: 8 }] }],
  routes: {
    'GET /ask': {
      path: (planted) => (isQueued(planted) ? [queued, called] : [called]),
    },
  },
};
