// What is asked of this server, and what a recording of it must say.
export default {
  drive: [{ repeat: 5, send: [{ path: '/all' }] }],
  routes: {
    'GET /all': {
      path: [
        { io: 'pool', resource: 'folder', from: 'readdir', begin: 'listed' },
        {
          // One pool job on Node 26; before, open, stat, two reads and close, one after another.
          chain: 'pool',
          resource: 'slow',
          rangeNs: ({ marks }) => [marks.written - marks.started, marks.last - marks.listed],
        },
      ],
    },
  },
};
