'use strict';
// What the observed process does in `hostile.test.mjs`: everything at once, in an order made up
// from a seed, while recording stops, starts, pauses and goes on; or it ends in an unusual way.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const worker = require('node:worker_threads');
const zlib = require('node:zlib');

const given = worker.isMainThread ? process.argv.slice(2) : worker.workerData;
const [name, out, seed = '1'] = given;
const addon = { exports: {} };
process.dlopen(addon, process.env.BOBTAIL_PROBE);
const probe = addon.exports;

let recordings = 0;
const start = (options = {}) =>
  probe.start({
    path: path.join(out, `${process.pid}-${worker.threadId}-${recordings++}.trace`),
    pid: process.pid,
    thread: worker.threadId,
    detail: 'full',
    maxBytes: 8e6,
    chunkBytes: 4096,
    nodeVersion: process.version,
    arch: process.arch,
    ...options,
  });

/** Numbers made up from the seed; the same ones for the same seed. */
let state = Number(seed);
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

const server = http.createServer((request, response) => request.resume() && response.end('ok'));
const listening = new Promise((resolve) =>
  server.listen(0, '127.0.0.1', () => resolve(server.address().port)),
);

/** Each may meet any state of the probe; what is under way is left to end whenever it does. */
function deeds(port, underWay) {
  const get = () =>
    new Promise((resolve, reject) =>
      http
        .get({ port, host: '127.0.0.1', agent: false }, (r) => r.resume().on('end', resolve))
        .on('error', reject),
    );
  const begin = (promise) => underWay.push(promise);
  return [
    () => probe.stop() || start(),
    () => probe.pause(),
    () => probe.resume(),
    () => begin(get()),
    () => begin(fs.promises.readFile(__filename)),
    () => begin(new Promise((resolve) => zlib.deflate('x'.repeat(9999), resolve))),
    () => begin(new Promise((resolve) => setTimeout(resolve, random(3)))),
    // A descriptor's number is used again at once, for something of another kind.
    () => fs.closeSync(fs.openSync(__filename)),
    // A connection and a file swap numbers: what is closed first is opened next, and kept a while.
    () => begin(swap(port)),
    () => begin(piped()),
    () =>
      begin(
        new Promise((resolve) =>
          net.connect(port, '127.0.0.1').on('connect', function () {
            this.destroy();
            resolve();
          }),
        ),
      ),
    () => probe.inspect(),
  ];
}

/** A file takes the number of a connection just closed, a connection that of the file. */
async function swap(port) {
  const socket = net.connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
  await once(socket, 'close');
  const file = fs.openSync(__filename);
  await turn();
  fs.closeSync(file);
  const next = net.connect(port, '127.0.0.1', () => next.destroy());
  await once(next, 'close');
}

/** What a child writes comes through pipes whose numbers were something else's. */
function piped() {
  const child = spawn('/bin/echo', ['x'], { stdio: ['pipe', 'pipe', 'ignore'] });
  child.stdin.on('error', () => {}).end('y');
  child.stdout.resume();
  return once(child, 'close');
}

const scenarios = {
  async shuffle() {
    start();
    const underWay = [];
    const all = deeds(await listening, underWay);
    for (let n = 0; n < 600; n++) {
      all[random(all.length)]();
      if (random(3) === 0) await turn();
      if (underWay.length > 50) await Promise.all(underWay.splice(0));
    }
    await Promise.all(underWay);
    probe.stop();
    server.close();
    process.stdout.write(`${recordings}\n`);
  },

  async 'exit-inside'() {
    start();
    const port = await listening;
    server.on('request', () => process.exit(7));
    net.connect(port, '127.0.0.1').write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  },

  // The worker is ended from outside while it calls back, compiles, and waits for the pool.
  async terminated() {
    if (!worker.isMainThread) {
      start();
      const port = await listening;
      const all = deeds(port, []).slice(3);
      for (let told = false; ; told = true) {
        all[random(all.length)]();
        for (let n = 0; n < 2e4; n++) ({ [`k${n % 97}`]: n })[`k${n % 13}`];
        await turn();
        if (!told) worker.parentPort.postMessage('at work');
      }
    }
    server.close();
    for (let round = 0; round < 6; round++) {
      const thread = new worker.Worker(__filename, { workerData: [name, out, `${round}`] });
      await once(thread, 'message');
      await new Promise((resolve) => setTimeout(resolve, 3 * round));
      await thread.terminate();
    }
    start();
    await fs.promises.readFile(__filename);
    probe.stop();
    // So that no exit closes what the ends of the threads left open.
    process.stdout.write('6\n', () => process.kill(process.pid, 'SIGKILL'));
  },

  // What throws runs inside a recorded event of each kind; with a listener the service goes on.
  async uncaught() {
    start();
    const port = await listening;
    let caught = 0;
    if (seed === 'caught') process.on('uncaughtException', () => caught++);
    const fail = (kind) => {
      throw new Error(`thrown out of ${kind}`);
    };
    server.on('connection', (socket) =>
      socket.on('error', () => {}).once('end', () => fail('read')),
    );
    const throwing = [
      () => setTimeout(() => fail('timer')),
      () => setImmediate(() => fail('immediate')),
      () => fs.stat(__filename, () => fail('pool')),
      () => process.nextTick(() => fail('tick')),
      () =>
        net
          .connect(port, '127.0.0.1')
          .end()
          .resume()
          .on('error', () => {}),
    ];
    for (let round = 0; round < 10; round++) {
      for (const begin of throwing) begin();
      const due = (round + 1) * throwing.length;
      while (caught < due) await turn();
    }
    await new Promise((resolve) =>
      http.get({ port, host: '127.0.0.1', agent: false }, (r) => r.resume().on('end', resolve)),
    );
    probe.stop();
    process.stdout.write(`${caught}\n`, () => process.exit(0));
  },

  async 'out-of-memory'() {
    start();
    await listening;
    const kept = [];
    setInterval(() => {
      for (let n = 0; n < 100_000; n++) kept.push({ n, text: `${n}` });
    }, 1);
  },

  /** Of few objects, so that a snapshot of them is soon written. */
  async 'out-of-memory-large'() {
    start();
    await listening;
    const kept = [];
    setInterval(() => kept.push(new Array(50_000).fill(0.5)), 1);
  },

  // What runs out of memory is a thread: it ends, its owner is told, and goes on, recorded.
  async 'worker-out-of-memory'() {
    start();
    const port = await listening;
    if (!worker.isMainThread) {
      const kept = [];
      setInterval(() => {
        for (let n = 0; n < 50_000; n++) kept.push({ n, text: `${n}` });
      }, 1);
      return;
    }
    const resourceLimits = { maxOldGenerationSizeMb: 24, maxYoungGenerationSizeMb: 4 };
    const thread = new worker.Worker(__filename, { workerData: [name, out], resourceLimits });
    // Both come in one turn.
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    const [error] = await once(thread, 'error');
    const code = await ended;
    const body = await new Promise((resolve) =>
      http.get({ port, host: '127.0.0.1', agent: false }, (response) =>
        response.setEncoding('utf8').on('data', resolve),
      ),
    );
    probe.stop();
    process.stdout.write(`${error.code} ${code} ${body}\n`, () => process.exit(0));
  },

  // Whoever is told that nothing is left to do may find something.
  async restarted() {
    start();
    server.close();
    server.closeAllConnections();
    let restarts = 0;
    process.on('beforeExit', async () => {
      if (restarts === 5) return;
      restarts++;
      await new Promise((resolve) => setTimeout(resolve, 1));
      await fs.promises.readFile(__filename);
      setImmediate(() => process.stdout.write(`${restarts}`));
    });
    process.on('exit', (code) => process.stdout.write(` ${code}\n`));
  },

  /** V8's last resort is called out of an allocation of optimized code. */
  async 'out-of-memory-optimized'() {
    start();
    await listening;
    // Large objects fill the heap before V8 gives up for collecting in vain.
    const fields = Array.from({ length: 60 }, (_, index) => `f${index}: n`).join();
    const body = `let head = null; for (let n = 0; ; n++) head = { ${fields}, next: head };`;
    setImmediate(new Function(body));
  },
};

scenarios[name]();
