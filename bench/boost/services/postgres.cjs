// Asks PostgreSQL for each round of I/O, over a pool of connections.
'use strict';

const pg = require('pg');
const { start } = require('./application.cjs');

start(async () => {
  const connectionString = process.env.PLANTED_POSTGRES;
  const pool = new pg.Pool({ connectionString, max: 16, idleTimeoutMillis: 0 });
  return async (n) => {
    const text = 'select sum(sqrt(x)) from generate_series(1, $1::int) as x where x % 7 <> 3';
    const { rows } = await pool.query({ name: 'sums', text, values: [2400 + (n % 800)] });
    return rows[0];
  };
});
