'use strict';
// A worker with limits of its own that serves, beside a main thread that does.
const http = require('node:http');
const { Worker, isMainThread } = require('node:worker_threads');

const server = http.createServer().listen(0, '127.0.0.1', () => {
  if (!isMainThread) {
    server.close();
    return;
  }
  const resourceLimits = { maxYoungGenerationSizeMb: 10, maxOldGenerationSizeMb: 70 };
  new Worker(__filename, { resourceLimits }).once('exit', () => server.close());
});
