// What all services of this experiment do beside their I/O: six kinds of request of different cost,
// a bounded cache that lives long, and JSON, so that V8 collects as it does in real services.
//
// Seeded, so that every start of a round makes the same cache; on one CPU or as a cluster.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');
const { seededRandom } = require('../../../packages/bobtail/dist/prove/shuffle.js');

const CACHED_MAX = 60_000;
const FILLED = 40_000;
/** Kinds of request: how often of a hundred, rows that are made, lookups, and rounds of I/O. */
const KINDS = [
  { share: 40, rows: 20, lookups: 10, rounds: 1 },
  { share: 18, rows: 60, lookups: 30, rounds: 1 },
  { share: 15, rows: 120, lookups: 20, rounds: 1 },
  { share: 16, rows: 180, lookups: 60, rounds: 2 },
  { share: 8, rows: 400, lookups: 100, rounds: 2 },
  { share: 3, rows: 2000, lookups: 200, rounds: 3 },
];

const random = seededRandom(Number(process.env.SEED ?? 1));
const cache = new Map();

function remember(key) {
  cache.set(key, {
    key,
    at: cache.size,
    tags: [`t${key % 97}`, `u${key % 89}`],
    text: `entry ${key}`,
  });
  // The oldest goes.
  if (cache.size > CACHED_MAX) cache.delete(cache.keys().next().value);
}

function kindOf(n) {
  let below = 0;
  for (const kind of KINDS) {
    below += kind.share;
    if (n % 100 < below) return kind;
  }
  return KINDS[0];
}

/** The work of a request, as an object that is sent as JSON. */
function work({ rows, lookups }) {
  const made = Array.from({ length: rows }, (_, i) => ({
    id: i,
    name: `row ${i}`,
    score: Math.sqrt(i * random()),
    tags: [`a${i % 7}`, `b${i % 11}`],
  }));
  made.sort((a, b) => b.score - a.score);
  let hits = 0;
  for (let i = 0; i < lookups; i += 1) {
    const key = Math.floor(random() * CACHED_MAX * 2);
    if (cache.has(key)) hits += 1;
    else remember(key);
  }
  return { hits, top: JSON.parse(JSON.stringify(made)).slice(0, 20) };
}

/**
 * Serves. `io(n)` is one round of I/O, a promise; requests are `/<n>`, and n decides the kind.
 */
async function serve(io) {
  for (let n = 0; n < FILLED; n += 1) remember(Math.floor(random() * CACHED_MAX * 2));
  const server = http.createServer(async (request, response) => {
    const n = Number(request.url.slice(1));
    const kind = kindOf(n);
    for (let round = 0; round < kind.rounds; round += 1) await io(n + round);
    const body = JSON.stringify(work(kind));
    response.writeHead(200, { 'content-length': Buffer.byteLength(body) });
    response.end(body);
  });
  // At once: nobody waits for what is still open.
  process.on('SIGTERM', () => process.exit(0));
  server.listen(Number(process.env.LISTEN_PORT ?? 0), '127.0.0.1', () => {
    const listening = { port: server.address().port, pid: process.pid };
    process.stdout.write(`${JSON.stringify({ listening })}\n`);
  });
}

/** Serves with as many workers as `WORKERS` says; without, in this process. */
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
  await serve(await prepare());
};
