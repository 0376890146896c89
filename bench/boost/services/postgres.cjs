// Asks PostgreSQL for a sixth of its I/O, over a pool of connections.
'use strict';

const pg = require('pg');
const { start } = require('./application.cjs');

/** The rest answers from memory: the work of the driver is more than that of most requests here. */
const QUERIES_ONE_IN = 6;

start(async () => {
  const connectionString = process.env.PLANTED_POSTGRES;
  const pool = new pg.Pool({ connectionString, max: 16, idleTimeoutMillis: 0 });
  return async (n) => {
    if (n % QUERIES_ONE_IN !== 0) return null;
    const text = 'select sum(sqrt(x)) from generate_series(1, $1::int) as x where x % 7 <> 3';
    const { rows } = await pool.query({ name: 'sums', text, values: [600 + (n % 200)] });
    return rows[0];
  };
});
