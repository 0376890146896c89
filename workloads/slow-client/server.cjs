// A response larger than the buffers of its connection may become, for a client that reads late.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

const body = Buffer.alloc(48 << 20, 'x');

/** The kernel has the last byte before JavaScript is told so, in the same event. */
function noteTaken(planted, response) {
  response.once('finish', () => {
    planted.note('ended');
    planted.report();
  });
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  planted.isBusy = Boolean(process.env.PLANTED_BUSY);
  response.setHeader('Content-Length', body.length);
  if (request.url === '/whole') {
    noteTaken(planted, response);
    response.end(body);
    planted.note('asked');
  } else if (request.url === '/pieces') {
    noteTaken(planted, response);
    response.write(body.subarray(0, body.length / 2));
    response.write(body.subarray(body.length / 2));
    response.end();
    planted.note('asked');
  } else {
    response.setHeader('Content-Length', 3);
    planted.answer(response);
  }
});

/** Lets the end of a response and the next request on its connection come in one poll. */
function computeNowAndThen() {
  setInterval(() => {
    const untilMs = performance.now() + 60;
    while (performance.now() < untilMs);
  }, 75).unref();
}

if (process.env.PLANTED_BUSY) computeNowAndThen();
truth.listen(server);
