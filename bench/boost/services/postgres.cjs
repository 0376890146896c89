// Asks PostgreSQL for a sixth of its I/O, over a pool of connections.
'use strict';

const pg = require('pg');
const { start } = require('./application.cjs');

/** The rest answers from memory: the work of the driver is more than that of most requests here. */
const QUERIES_ONE_IN = 6;
/** All arms of a round are there at once, and PostgreSQL takes a hundred connections. */
const CONNECTIONS = 8;

start(async () => {
  const connectionString = process.env.PLANTED_POSTGRES;
  const max = CONNECTIONS / Math.max(1, Number(process.env.WORKERS ?? 0));
  const pool = new pg.Pool({ connectionString, max, idleTimeoutMillis: 0 });
  return async (n) => {
    if (n % QUERIES_ONE_IN !== 0) return null;
    const text = 'select sum(sqrt(x)) from generate_series(1, $1::int) as x where x % 7 <> 3';
    const { rows } = await pool.query({ name: 'sums', text, values: [600 + (n % 200)] });
    return rows[0];
  };
});
