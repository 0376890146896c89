// A quick route, and another that keeps the loop for 40 ms.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

const HOG_MS = 40;
const orders = Array.from({ length: 5_000 }, (_, id) => ({ id, customer: `customer ${id}` }));
const hog = {};

function serializeEverything(planted, response) {
  const delayNs = truth.runDelayNs();
  const untilNs = truth.nowNs() + HOG_MS * 1e6;
  while (truth.nowNs() < untilNs) JSON.stringify(orders);
  planted.answer(response);
  hog.ended = planted.marks.ended;
  hog.delayNs = truth.runDelayNs() - delayNs;
}

function quick(planted, response) {
  planted.set('hogEnded', hog.ended);
  planted.set('hogDelay', hog.delayNs);
  planted.answer(response);
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/export') serializeEverything(planted, response);
  else if (request.url === '/quick') quick(planted, response);
  else planted.answer(response);
});
truth.listen(server);
