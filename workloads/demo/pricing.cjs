// The pricing service that the shop asks: an HTTP server in a process of its own, slow at times.
//
// It stands for another machine, so it is started without the recorder. The delays are drawn from
// a fixed seed: most answers take 1 to 3 ms, one of two hundred takes 25 ms.
'use strict';

const { spawn } = require('node:child_process');
const http = require('node:http');
const { plainEnvironment } = require('../plant/environment.cjs');

/** Starts it; resolves to `{port}`. It ends when this process ends. */
function startPricing() {
  const child = spawn(process.execPath, [__filename], {
    env: plainEnvironment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.unref();
  child.stdin.unref();
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the pricing service ended with ${code}`)));
    child.stdout.once('data', (line) => {
      child.stdout.destroy();
      resolve({ port: Number(line) });
    });
  });
}

/** Numbers in 0 … 1, the same in every run (a linear congruential generator). */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

function serve() {
  const random = seeded(20_191_121);
  const server = http.createServer((request, response) => {
    const delayMs = random() < 0.005 ? 25 : 1 + random() * 2;
    setTimeout(() => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ id: request.url.slice(1), cents: delayMs * 100 }));
    }, delayMs);
  });
  server.keepAliveTimeout = 600_000;
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => undefined);
  process.stdin.on('end', () => process.exit()).resume();
}

if (require.main === module) serve();

module.exports = { startPricing };
