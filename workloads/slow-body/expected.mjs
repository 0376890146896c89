// What is asked of this server, and what a recording of it must say.
const chunks = [
  { afterMs: 20, bytes: 1000 },
  { afterMs: 20, bytes: 1000 },
  { afterMs: 20, bytes: 1000 },
];

export default {
  drive: [{ repeat: 4, send: [{ path: '/upload', method: 'POST', chunks }] }],
  routes: {
    'POST /upload': {
      path: [
        {
          chain: 'read',
          resource: /client/,
          rangeNs: ({ marks }) => [marks.chunk2Sent - marks.asked, marks.chunk - marks.sent],
        },
      ],
    },
  },
};
