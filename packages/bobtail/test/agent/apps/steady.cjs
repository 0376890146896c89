'use strict';
// A server with something of each kind under way all the time: promises, ticks, timers, immediates,
// pool jobs; slow answers, too, so that some requests begin and end on different sides of a pause.
const fs = require('node:fs');
const http = require('node:http');
const { AsyncResource } = require('node:async_hooks');

let ticks = 0;
setInterval(() => {
  ticks++;
  process.nextTick(() => setImmediate(() => queueMicrotask(() => undefined)));
  new AsyncResource('steady').runInAsyncScope(AsyncResource.bind(() => undefined));
}, 3);

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function answer(request) {
  if (request.url === '/slow') await sleep(150);
  const text = await fs.promises.readFile(__filename, 'utf8');
  await sleep(1);
  return `${text.length} ${ticks > 0}`;
}

const server = http.createServer((request, response) => {
  if (request.url === '/quit') {
    response.end('bye');
    server.close();
    server.closeAllConnections();
    // The interval must not keep the process.
    setTimeout(() => process.exit(0), 20);
    return;
  }
  answer(request).then((text) => response.end(text));
});
server.listen(0, '127.0.0.1');
