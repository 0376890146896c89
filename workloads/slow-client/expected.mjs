// What is asked of this server, and what a recording of it must say.
const stallMs = 40;
const path = [
  {
    chain: 'poll',
    resource: /client/,
    // From the first write until the client has read enough for the rest to be taken.
    // Of a busy loop the wait is in part a wait for the loop.
    rangeNs: ({ marks, isBusy }) => [
      isBusy ? 0 : marks.end - marks.asked,
      marks.ended - marks.begin,
    ],
  },
];

export default {
  variants: [{}, { PLANTED_BUSY: '1' }],
  drive: [
    { repeat: 2, send: [{ path: '/whole', stallMs }] },
    { repeat: 2, send: [{ path: '/pieces', stallMs }] },
  ],
  routes: {
    'GET /whole': { path },
    'GET /pieces': { path },
  },
};
