// A service that asks PostgreSQL twice for each request, over a pool of connections.
'use strict';

const http = require('node:http');
const pg = require('pg');
const { listen } = require('./listen.cjs');

const pool = new pg.Pool({
  connectionString: process.env.PLANTED_POSTGRES,
  max: 8,
  idleTimeoutMillis: 0,
});

async function order(id) {
  const head = await pool.query('select $1::int as id, now() as at', [id]);
  const lines = await pool.query(
    "select n as line, 'item-' || n as item from generate_series(1, 8) as n where n > $1",
    [id % 4],
  );
  return JSON.stringify({ ...head.rows[0], lines: lines.rows });
}

let next = 0;
const server = http.createServer((_request, response) => {
  next += 1;
  order(next).then(
    (body) => response.end(body),
    (error) => {
      response.statusCode = 500;
      response.end(String(error));
    },
  );
});
listen(server);
