/** Serves itself one request, then prints what it saw. Fakes timers meanwhile, as test tools do. */
const http = require('node:http');
const { setTimeout: sleep } = require('node:timers/promises');

function fakeTimers() {
  const real = { setTimeout, setInterval, setImmediate, clearTimeout, nextTick: process.nextTick };
  const pending = [];
  globalThis.setTimeout = (callback, ...rest) => pending.push([callback, rest]);
  process.nextTick = (callback, ...rest) => pending.push([callback, [0, ...rest]]);
  setTimeout((value) => seen.push(value), 1e6, 'faked timeout');
  process.nextTick((value) => seen.push(value), 'faked tick');
  for (const [callback, [, ...args]] of pending) callback(...args);
  globalThis.setTimeout = real.setTimeout;
  process.nextTick = real.nextTick;
}

const seen = [String(globalThis.imported)];
const server = http.createServer(async (_request, response) => {
  fakeTimers();
  await sleep(2);
  setTimeout(() => response.end('served'), 2);
});
server.listen(0, '127.0.0.1', () => {
  http.get({ port: server.address().port, host: '127.0.0.1', agent: false }, (response) => {
    response.on('data', (chunk) => seen.push(String(chunk)));
    response.on('end', () => {
      console.log(JSON.stringify(seen));
      server.close();
    });
  });
});
