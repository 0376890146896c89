// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 5, send: [{ path: '/archive' }] }],
  routes: {
    'GET /archive': {
      path: [
        {
          chain: 'pool',
          resource: /zlib|gzip|deflate/i,
          // The job is asked for somewhere within the call.
          rangeNs: ({ marks }) => [
            marks.compressed - marks.compressEnd,
            marks.compressed - marks.compress,
          ],
        },
      ],
    },
  },
};
