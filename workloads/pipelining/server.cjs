// Two routes with timers, asked by pipelined requests: both arrive in one read of the connection.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

let first;

/** The first response holds this one back: it is handed over after the end of that one. */
function answerBehind(planted, response) {
  response.once('finish', () => {
    planted.set('end', first.marks.end);
    planted.note('ended');
    planted.report();
  });
  planted.note('answer');
  response.end('ok\n');
  planted.note('answered');
}

function after(ms, planted, answer) {
  planted.note('wait');
  planted.set('due', planted.marks.wait + ms * 1e6);
  setTimeout(() => {
    planted.note('woke');
    answer();
  }, ms);
  planted.note('waitEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  const answer = () => planted.answer(response);
  if (request.url === '/slow') {
    first = planted;
    after(50, planted, answer);
  } else if (request.url === '/quick') {
    after(25, planted, () => answerBehind(planted, response));
  } else {
    answer();
  }
});
truth.listen(server);
