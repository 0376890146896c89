// Routes that have a worker thread compute for them and wait for its answer.
'use strict';

const { createServer } = require('node:http');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');
const truth = require('../plant/truth.cjs');

// Apart from each other: of two answers that meet at a loop, only the first has its own wake-up.
const AWAITED_MS = 20;
const CALLED_MS = 50;

if (isMainThread) serve();
else compute();

function compute() {
  parentPort.on('message', ({ job, ms }) => {
    truth.spin(ms);
    parentPort.postMessage({ job, answeredNs: truth.nowNs() });
  });
}

function serve() {
  const workers = [new Worker(__filename), new Worker(__filename)];
  const waiting = new Map();
  let jobs = 0;
  for (const worker of workers) {
    worker.on('message', ({ job, answeredNs }) => {
      waiting.get(job)(answeredNs);
      waiting.delete(job);
    });
  }

  function ask(planted, ms, answered) {
    const job = ++jobs;
    const worker = workers[job % workers.length];
    planted.resource('worker', `worker ${worker.threadId}`);
    waiting.set(job, answered);
    planted.note('ask');
    worker.postMessage({ job, ms });
    planted.note('askEnd');
  }

  function finish(planted, response, answeredNs) {
    planted.note('answered');
    planted.set('sentBack', answeredNs);
    planted.answer(response);
  }

  const routes = {
    '/awaited': async (planted, response) => {
      finish(planted, response, await new Promise((resolve) => ask(planted, AWAITED_MS, resolve)));
    },
    '/called': (planted, response) => {
      ask(planted, CALLED_MS, (answeredNs) => finish(planted, response, answeredNs));
    },
  };

  const server = createServer((request, response) => {
    const planted = truth.begin(request);
    const route = routes[request.url];
    if (route) route(planted, response);
    else planted.answer(response);
  });
  truth.listen(server);
}
