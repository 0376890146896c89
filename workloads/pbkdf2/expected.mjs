// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 5, send: [{ path: '/login' }] }],
  routes: {
    'GET /login': {
      path: [{ io: 'pool', resource: /pbkdf2/, from: 'hash', begin: 'hashed' }],
    },
  },
};
