// What is asked of this server, and what a recording of it must say.
const path = [{ io: 'pool', resource: /^dns\.lookup localhost$/, from: 'ask', begin: 'found' }];

export default {
  drive: [
    { repeat: 4, send: [{ path: '/callback' }] },
    { repeat: 4, send: [{ path: '/promise' }] },
  ],
  routes: { 'GET /callback': { path }, 'GET /promise': { path } },
};
