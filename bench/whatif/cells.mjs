// What is recorded: the service as it is, twice, and with one thing changed, which is predicted
// from the first.

const MIX = ['hog', 'hog', 'hog', 'up'];
const REQUESTS = 1350;
const RATE = 50;
const UPSTREAM = { UPSTREAM_MS: '8' };
const POOL_LOAD = ['2000', '200', 'pool', 'x'];
const base = {
  service: ['busy=8'],
  load: [String(REQUESTS), String(RATE), ...MIX],
  env: UPSTREAM,
  seconds: 27,
};
const pool = { service: [], load: POOL_LOAD, env: { UV_THREADPOOL_SIZE: '1' }, seconds: 13 };

/**
 * Changes that are predicted from one cell and made in another. The factor of a route's work is
 * measured in both (`changeOf` of run.mjs): the service doubles what the handler does, and up to a
 * millisecond of each request is HTTP and the recorder, which nobody doubles.
 */
export const INJECTIONS = [
  { component: 'route:/hog.exec', measured: '/hog', from: 'first', again: 'again', cell: 'exec' },
  { component: 'io', factor: 2, from: 'first', again: 'again', cell: 'io' },
  { component: 'rate', factor: 1.5, from: 'first', again: 'again', cell: 'rate' },
  { component: 'pool', factor: 2, from: 'pool-first', again: 'pool-again', cell: 'pool' },
];

export const CELLS = {
  first: base,
  again: base,
  exec: { ...base, service: ['busy=16'] },
  io: { ...base, env: { UPSTREAM_MS: '16' } },
  rate: { ...base, load: [String(REQUESTS), String(RATE * 1.5), ...MIX] },
  'pool-first': pool,
  'pool-again': pool,
  pool: { ...pool, env: { UV_THREADPOOL_SIZE: '2' } },
};
