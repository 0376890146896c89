// Two routes with timers, asked by pipelined requests: both arrive in one read of the connection.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

function after(ms, planted, response) {
  planted.note('wait');
  planted.set('due', planted.marks.wait + ms * 1e6);
  setTimeout(() => {
    planted.note('woke');
    planted.answer(response);
  }, ms);
  planted.note('waitEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/slow') after(50, planted, response);
  else if (request.url === '/quick') after(25, planted, response);
  else planted.answer(response);
});
truth.listen(server);
