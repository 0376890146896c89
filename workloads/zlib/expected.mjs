// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 5, send: [{ path: '/archive' }] }],
  routes: {
    'GET /archive': {
      path: [
        {
          chain: 'pool',
          resource: /zlib|gzip|deflate/i,
          rangeNs: ({ marks }) => [
            marks.compressed - marks.compress,
            marks.compressed - marks.compress,
          ],
        },
      ],
    },
  },
};
