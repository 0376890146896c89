// What is asked of this server, and what a recording of it must say.
const stallMs = 40;
const path = [
  {
    chain: 'poll',
    resource: /client/,
    // From the first write until the client has read enough for the rest to be taken.
    rangeNs: ({ marks }) => [marks.end - marks.asked, marks.ended - marks.begin],
  },
];

export default {
  drive: [
    { repeat: 3, send: [{ path: '/whole', stallMs }] },
    { repeat: 3, send: [{ path: '/pieces', stallMs }] },
  ],
  routes: {
    'GET /whole': { path },
    'GET /pieces': { path },
  },
};
