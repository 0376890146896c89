// A route that looks a name up with the system's resolver.
'use strict';

const dns = require('node:dns');
const http = require('node:http');
const truth = require('../plant/truth.cjs');

function lookUp(planted, response) {
  planted.note('ask');
  dns.lookup('localhost', (error) => {
    if (error) throw error;
    planted.note('found');
    planted.answer(response);
  });
}

async function lookUpAwaited(planted, response) {
  planted.note('ask');
  await dns.promises.lookup('localhost');
  planted.note('found');
  planted.answer(response);
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/callback') lookUp(planted, response);
  else if (request.url === '/promise') lookUpAwaited(planted, response);
  else planted.answer(response);
});
truth.listen(server);
