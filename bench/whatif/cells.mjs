// What is recorded: the service as it is, twice, and with one thing changed, which is predicted
// from the first.

const MIX = ['hog', 'hog', 'hog', 'up'];
const REQUESTS = 1350;
const RATE = 50;
const UPSTREAM = { UPSTREAM_MS: '8' };
const POOL_LOAD = ['2000', '200', 'pool', 'x'];
const base = {
  // Long enough that nearly all work of the route is what is then doubled: some 0.4 ms are not.
  service: ['busy=8'],
  load: [String(REQUESTS), String(RATE), ...MIX],
  env: UPSTREAM,
  seconds: 27,
};
const pool = { service: [], load: POOL_LOAD, env: { UV_THREADPOOL_SIZE: '1' }, seconds: 13 };

/** Changes that are predicted from `first`, and the cells in which they are made. */
export const INJECTIONS = [
  { change: 'route:/hog.exec=2', from: 'first', again: 'again', cell: 'exec' },
  { change: 'io=2', from: 'first', again: 'again', cell: 'io' },
  { change: 'rate=1.5', from: 'first', again: 'again', cell: 'rate' },
  { change: 'pool=2', from: 'pool-first', again: 'pool-again', cell: 'pool' },
];

const setsOf = (from) => {
  return INJECTIONS.filter((one) => one.from === from).map(({ change }) => change);
};

export const CELLS = {
  first: { ...base, sets: setsOf('first') },
  again: base,
  exec: { ...base, service: ['busy=16'] },
  io: { ...base, env: { UPSTREAM_MS: '16' } },
  rate: { ...base, load: [String(REQUESTS), String(RATE * 1.5), ...MIX] },
  'pool-first': { ...pool, sets: setsOf('pool-first') },
  'pool-again': pool,
  pool: { ...pool, env: { UV_THREADPOOL_SIZE: '2' } },
};
