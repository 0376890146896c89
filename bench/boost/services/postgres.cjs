// Asks PostgreSQL with one request in fourteen, over a pool of connections; each answer takes a
// millisecond and more, as of a database that reads its disk or is in another building: it sleeps
// for that, since it shares its core with the load.
'use strict';

const pg = require('pg');
const { start } = require('./application.cjs');

/** The rest answers from memory: the work of the driver is more than that of most requests here. */
const QUERIES_ONE_IN = 14;
/** All arms of a round are there at once, and PostgreSQL takes a hundred connections. */
const CONNECTIONS = 8;

start(async () => {
  const connectionString = process.env.PLANTED_POSTGRES;
  const max = CONNECTIONS / Math.max(1, Number(process.env.WORKERS ?? 0));
  const pool = new pg.Pool({ connectionString, max, idleTimeoutMillis: 0 });
  return async (n) => {
    if (n % QUERIES_ONE_IN !== 0) return null;
    const text =
      'select pg_sleep(0.001), sum(sqrt(x)) from generate_series(1, $1::int) as x where x % 7 <> 3';
    const { rows } = await pool.query({ name: 'sums', text, values: [200 + (n % 200)] });
    return rows[0];
  };
});
