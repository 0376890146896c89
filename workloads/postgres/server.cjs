// Queries over a pool of one PostgreSQL connection, in callback style, with a decoy timer.
'use strict';

const http = require('node:http');
const pg = require('pg');
const truth = require('../plant/truth.cjs');

const database = new URL(process.env.PLANTED_POSTGRES);
const pool = new pg.Pool({ connectionString: database.href, max: 1, idleTimeoutMillis: 0 });

/** The decoy is due while the query is pending; it is this request's, but not on its path. */
function decoy() {
  setTimeout(() => undefined, 15);
}

function query(planted, response) {
  planted.resource('database', `${database.hostname}:${database.port}`);
  decoy();
  planted.note('wait');
  setTimeout(() => {
    planted.note('woke');
    planted.note('query');
    pool.query('select pg_sleep(0.04)', (error) => {
      if (error) throw error;
      planted.note('answered');
      planted.answer(response);
    });
    planted.note('queryEnd');
  }, 5);
  planted.note('waitEnd');
}

/** Takes a connection first: the second of two requests waits for the first one's. */
function checkout(planted, response) {
  planted.resource('database', `${database.hostname}:${database.port}`);
  decoy();
  planted.note('connect');
  pool.connect((connectError, client, release) => {
    if (connectError) throw connectError;
    planted.note('connected');
    client.query('select pg_sleep(0.04)', (error) => {
      if (error) throw error;
      planted.note('answered');
      planted.answer(response);
      release();
    });
  });
  planted.noteTurnEnd('connectEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/query') query(planted, response);
  else if (request.url.startsWith('/checkout')) checkout(planted, response);
  else planted.answer(response);
});
truth.listen(server);
