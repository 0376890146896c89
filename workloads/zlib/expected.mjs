// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 5, send: [{ path: '/archive' }] }],
  routes: {
    'GET /archive': {
      path: [
        {
          chain: 'pool',
          resource: /zlib|gzip|deflate/i,
          // The job is asked for somewhere within the call, and the stream collects its chunks
          // in the last run before it calls back.
          rangeNs: ({ marks, explained }) => [
            marks.compressed - marks.compressEnd - explained.segments.at(-1).durationNs,
            marks.compressed - marks.compress,
          ],
        },
      ],
    },
  },
};
