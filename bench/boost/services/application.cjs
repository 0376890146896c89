// The services of this experiment but for their I/O: HTTP around `work.cjs`, on one CPU or as a
// cluster.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');
const { promiseHooks } = require('node:v8');
const { fillCache, kindOf, work } = require('./work.cjs');
const { placeV8Workers } = require('./v8-workers.cjs');

const KEEP_ALIVE_MS = 600_000;

/**
 * Serves. `io(n)` is one round of I/O, a promise; requests are `/<n>`, and n decides the kind.
 */
async function serve(io) {
  fillCache();
  const server = http.createServer(async (request, response) => {
    const n = Number(request.url.slice(1));
    const kind = kindOf(n);
    for (let round = 0; round < kind.rounds; round += 1) await io(n + round);
    const body = JSON.stringify(work(kind));
    response.writeHead(200, { 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
  // The load keeps its connections while it waits for the core to be as fast as it should be.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // At once: nobody waits for what is still open.
  process.on('SIGTERM', () => process.exit(0));
  server.listen(Number(process.env.LISTEN_PORT ?? 0), '127.0.0.1', () => {
    const listening = { port: server.address().port, pid: process.pid };
    process.stdout.write(`${JSON.stringify({ listening })}\n`);
  });
}

/**
 * Serves with as many workers as `WORKERS` says; without, in this process. `V8_HELPERS` says where
 * V8's helpers run, and `PROMISE_HOOKS=empty` has V8 treat promises as in a recorded service.
 */
exports.start = async (prepare) => {
  const workers = Number(process.env.WORKERS ?? 0);
  if (workers > 0 && cluster.isPrimary) {
    for (let n = 0; n < workers; n += 1) cluster.fork({ SEED: Number(process.env.SEED ?? 1) + n });
    process.on('SIGTERM', () => {
      for (const worker of Object.values(cluster.workers)) worker.process.kill('SIGTERM');
      process.exit(0);
    });
    return;
  }
  placeV8Workers(process.env.V8_HELPERS ?? 'ordinary');
  if (process.env.PROMISE_HOOKS === 'empty') {
    promiseHooks.createHook({ init: () => undefined, before: () => undefined });
  }
  await serve(await prepare());
};
