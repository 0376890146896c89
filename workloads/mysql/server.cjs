// Queries over a pool of one MySQL connection, in callback style, with a decoy timer.
'use strict';

const http = require('node:http');
const mysql = require('mysql2');
const truth = require('../plant/truth.cjs');
const { startDatabase } = require('./database.cjs');

function slow(pool, address, planted, response) {
  planted.resource('database', address);
  setTimeout(() => undefined, 15);
  planted.note('wait');
  setTimeout(() => {
    planted.note('woke');
    planted.note('query');
    pool.query('select something', (error) => {
      if (error) throw error;
      planted.note('answered');
      planted.answer(response);
    });
    planted.note('queryEnd');
  }, 5);
  planted.note('waitEnd');
}

startDatabase().then(({ host, port }) => {
  const pool = mysql.createPool({ host, port, user: 'planted', connectionLimit: 1 });
  const server = http.createServer((request, response) => {
    const planted = truth.begin(request);
    if (request.url === '/slow') slow(pool, `${host}:${port}`, planted, response);
    else planted.answer(response);
  });
  truth.listen(server);
});
