// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 5, send: [{ path: '/orders/7' }] }],
  routes: {
    'GET /orders/7': {
      route: /^GET \/orders\/(7|:id)$/,
      path: [
        { io: 'timer', from: 'wait', ready: 'due', begin: 'woke' },
        {
          chain: /timer|promise/,
          kinds: ['exec'],
          rangeNs: ({ marks }) => [marks.end - marks.woke, marks.ended - marks.woke],
        },
      ],
    },
  },
};
