// A response that goes through every kind of queue Node has, with CPU work in each step.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

const STEP_MS = 4;

function chain(planted, response) {
  process.nextTick(() => {
    truth.spin(STEP_MS);
    queueMicrotask(() => {
      truth.spin(STEP_MS);
      planted.note('immediate');
      setImmediate(async () => {
        planted.note('turned');
        truth.spin(STEP_MS);
        await null;
        truth.spin(STEP_MS);
        planted.answer(response);
      });
    });
  });
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/chain') chain(planted, response);
  else planted.answer(response);
});
truth.listen(server);
