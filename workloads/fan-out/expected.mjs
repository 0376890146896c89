// What is asked of this server, and what a recording of it must say.
const waited = [
  { io: 'timer', resource: /timer/, from: 'wait', begin: 'slept' },
  { io: 'pool', resource: 'reading', from: 'read', ready: 'written', begin: 'done' },
];

/** A process that was not run for long finds the read and the timer done in one turn. */
const rested = [{ io: 'timer', resource: /timer 35ms/, from: 'wait', begin: 'rested' }];

export default {
  warm: ['/all'],
  servers: ['server.mjs'],
  drive: [{ repeat: 5, send: [{ path: '/all' }] }],
  routes: {
    'GET /all': {
      path: ({ marks }) => (marks.rested < marks.done ? waited : rested),
    },
  },
};
