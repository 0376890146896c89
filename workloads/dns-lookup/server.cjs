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
  planted.note('askEnd');
}

async function lookUpAwaited(planted, response) {
  planted.note('ask');
  const pending = dns.promises.lookup('localhost');
  planted.note('askEnd');
  await pending;
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
