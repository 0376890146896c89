// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 5, send: [{ path: '/convert' }] }],
  routes: {
    'GET /convert': {
      path: [
        {
          io: 'child',
          resource: /^child sleep$/,
          from: 'spawn',
          ready: ({ spawn }) => spawn + 40e6,
          begin: 'exited',
        },
      ],
    },
  },
};
