/** A server whose requests keep the loop with promise reactions and ticks that allocate. */
const http = require('node:http');
const { performance } = require('node:perf_hooks');

const TURN_MS = 30;

async function work() {
  const kept = [];
  const until = performance.now() + TURN_MS;
  while (performance.now() < until) {
    await Promise.all([1, 2, 3].map(async (n) => ({ n, text: `text ${n}`.repeat(3) })));
    await new Promise((done) => process.nextTick(done, new Array(20).fill({})));
    if (kept.push(new Array(4_000).fill(0.5)) > 100) kept.length = 0;
  }
}

const server = http.createServer(async (request, response) => {
  if (request.url === '/quit') {
    response.end('bye', () => process.exit(0));
    return;
  }
  await work();
  response.end('done');
});
server.listen(0, '127.0.0.1');
