// A route that hashes a password on the thread pool.
'use strict';

const crypto = require('node:crypto');
const http = require('node:http');
const truth = require('../plant/truth.cjs');

const hash = ['password', 'salt', 30_000, 64, 'sha512'];

/** The shortest of a few runs outside the pool: no hash is much quicker. */
function quickestNs() {
  const runs = Array.from({ length: 3 }, () => {
    const beginNs = truth.nowNs();
    crypto.pbkdf2Sync(...hash);
    return truth.nowNs() - beginNs;
  });
  return Math.min(...runs);
}

const hashNs = 0.9 * quickestNs();

function logIn(planted, response) {
  planted.note('hash');
  planted.set('earliest', planted.marks.hash + hashNs);
  crypto.pbkdf2(...hash, (error) => {
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
