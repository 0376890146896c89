// A route that hashes a password on the thread pool.
'use strict';

const crypto = require('node:crypto');
const http = require('node:http');
const truth = require('../plant/truth.cjs');

function logIn(planted, response) {
  planted.note('hash');
  crypto.pbkdf2('password', 'salt', 30_000, 64, 'sha512', (error) => {
    if (error) throw error;
    planted.note('hashed');
    planted.answer(response);
  });
  planted.note('hashEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/login') logIn(planted, response);
  else planted.answer(response);
});
truth.listen(server);
