// A server that listens on a unix socket, with a timer.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

function step(planted, response) {
  planted.note('wait');
  planted.set('due', planted.marks.wait + 25e6);
  setTimeout(() => {
    planted.note('woke');
    planted.answer(response);
  }, 25);
  planted.note('waitEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/step') step(planted, response);
  else planted.answer(response);
});
truth.listen(server, truth.socketPath('planted.sock'));
