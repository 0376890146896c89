// What is asked of this server, and what a recording of it must say.
const own = { io: 'timer', from: 'wait', ready: 'due', begin: 'woke' };

/** The first response, which holds the second back: of the same write on the same connection. */
function first({ all, marks }) {
  return all.find(({ path, marks: { sent } }) => path === '/slow' && sent === marks.sent);
}

export default {
  drive: [{ repeat: 4, send: [{ pipeline: [{ path: '/slow' }, { path: '/quick' }] }] }],
  routes: {
    'GET /slow': { path: [own] },
    'GET /quick': {
      path: (truth) => [
        own,
        // Its bytes leave only after those of the first response: what that one waits for.
        {
          chain: 'timer',
          // Timers are due by the loop's clock, which stands still in an event and has whole ms.
          earlyNs: 2e6,
          rangeNs: ({ marks }) => {
            const { due, woke } = first(truth).marks;
            return [due - marks.answered, woke - marks.answer];
          },
        },
      ],
    },
  },
};
