// What is recorded: the service as it is, twice, and with one thing changed, which is predicted
// from the first.

const MIX = ['hog', 'hog', 'sign', 'up'];
/** Half of them may come while the host takes time. */
const REQUESTS = 2400;
const RATE = 60;
const UPSTREAM = { UPSTREAM_MS: '8' };
/** Some 8 ms each. */
const BUSY = 'busy=8';
const ROUNDS = 20_000;
/** One thread has work for two thirds of the time, so that jobs wait for it. */
const POOL_LOAD = ['4800', '240', 'pool', 'x'];
const base = {
  service: [BUSY, `rounds=${ROUNDS}`],
  load: [String(REQUESTS), String(RATE), ...MIX],
  env: UPSTREAM,
  seconds: 43,
};
const pool = {
  service: [`rounds=${ROUNDS}`],
  load: POOL_LOAD,
  env: { UV_THREADPOOL_SIZE: '1' },
  seconds: 26,
};

/**
 * Changes that are predicted from one cell and made in another; each is known before it is made.
 * /sign is a hash of twice as many rounds, which is all that it does natively but for a tenth of a
 * millisecond. /hog has `addedMs` more by the clock, which the factor says of what its requests
 * execute before the change: that of HTTP, up to a millisecond, stays.
 */
export const INJECTIONS = [
  {
    component: 'route:/hog.exec',
    route: '/hog',
    addedMs: 8,
    from: 'first',
    again: 'again',
    cell: 'exec',
  },
  { component: 'route:/sign.native', factor: 2, from: 'first', again: 'again', cell: 'native' },
  { component: 'io', factor: 2, from: 'first', again: 'again', cell: 'io' },
  { component: 'rate', factor: 1.5, from: 'first', again: 'again', cell: 'rate' },
  { component: 'pool', factor: 2, from: 'pool-first', again: 'pool-again', cell: 'pool' },
];

export const CELLS = {
  first: base,
  again: base,
  exec: { ...base, service: ['busy=16', `rounds=${ROUNDS}`] },
  native: { ...base, service: [BUSY, `rounds=${2 * ROUNDS}`] },
  io: { ...base, env: { UPSTREAM_MS: '16' } },
  rate: { ...base, load: [String(REQUESTS), String(RATE * 1.5), ...MIX] },
  'pool-first': pool,
  'pool-again': pool,
  pool: { ...pool, env: { UV_THREADPOOL_SIZE: '2' } },
};
