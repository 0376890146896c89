// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 5, send: [{ path: '/chain' }] }],
  routes: {
    'GET /chain': {
      events: [/^read$/, /^tick$/, /^microtask$/, /^immediate$/, /^promise$/],
      path: [
        {
          chain: /read|tick|microtask/,
          kinds: ['exec'],
          rangeNs: ({ marks }) => [marks.immediate - marks.begin, marks.turned - marks.sent],
        },
        {
          chain: /immediate|promise/,
          kinds: ['exec'],
          rangeNs: ({ marks }) => [marks.end - marks.turned, marks.ended - marks.turned],
        },
      ],
    },
  },
};
