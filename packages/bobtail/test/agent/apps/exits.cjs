'use strict';
// Ends in the middle of something that is recorded, as named on the command line; before that it
// does some of everything, so that the records before the end can be told from none.
const fs = require('node:fs');
const { PerformanceObserver } = require('node:perf_hooks');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');

const kept = [];

/** Fills memory until V8 has collected it several times. */
function litter(turns = 200_000) {
  for (let n = 0; n < turns; n += 1) kept[n % 20_000] = { n, text: `${n}`, list: [n, n] };
}

/** Reads a property of objects of which no two have the same shape; `at` tells of each. */
function misses(at) {
  for (let n = 0; n < 500; n += 1) {
    const object = Object.defineProperty({ [`p${n}`]: n }, 'x', { get: () => at(n) });
    if (object.x !== n) throw new Error('not what the getter gave');
  }
}

const ways = {
  async reaction() {
    for (let n = 0; n < 100; n += 1) await n;
    process.exit(11);
  },
  tick() {
    process.nextTick(() => process.nextTick(() => process.exit(12)));
  },
  microtask() {
    queueMicrotask(() => process.exit(13));
  },
  collection() {
    // Told right after a collection, of which there are more.
    new PerformanceObserver(() => {
      litter();
      process.exit(14);
    }).observe({ entryTypes: ['gc'] });
    setInterval(() => litter(), 1);
  },
  finalizer() {
    const registry = new FinalizationRegistry(() => process.exit(15));
    for (let n = 0; n < 1_000; n += 1) registry.register({}, n);
    // Nothing is told by a registry that is collected itself.
    setInterval(() => litter(), 1, registry);
  },
  miss() {
    misses((n) => {
      if (n === 400) process.exit(16);
      return n;
    });
  },
  compiled() {
    const body = { toString: () => process.exit(17) };
    return new Function(body);
  },
  pool() {
    fs.readFile(__filename, () => process.exit(18));
  },
  long() {
    // Long enough to be asked where it is, time and again.
    for (const end = Date.now() + 60; Date.now() < end; );
    process.exit(19);
  },
  twice() {
    process.on('exit', () => process.exit(20));
    process.exit(1);
  },
  async thrown() {
    await null;
    throw new Error('nobody catches this');
  },
  thrownBack() {
    process.on('uncaughtException', () => process.exit(21));
    misses((n) => {
      if (n === 300) throw new Error('out of a getter, out of a miss');
      return n;
    });
  },
  workers() {
    // Each is in the middle of something else when the process ends.
    let ready = 0;
    for (const way of ['litters', 'awaits', 'misses']) {
      new Worker(__filename, { workerData: way }).once('message', () => {
        ready += 1;
        if (ready === 3) process.exit(22);
      });
    }
  },
  async terminated() {
    for (const way of ['litters', 'awaits', 'misses']) {
      const worker = new Worker(__filename, { workerData: way });
      await new Promise((resolve) => worker.once('message', resolve));
      process.stdout.write(`${way} ${await worker.terminate()}\n`);
    }
    const own = new Worker(__filename, { workerData: 'exits' });
    const code = await new Promise((resolve) => own.once('exit', resolve));
    process.stdout.write(`exits ${code}\n`);
    process.exit(23);
  },
  killed() {
    process.kill(process.pid, 'SIGKILL');
  },
  aborted() {
    misses((n) => (n === 300 ? process.abort() : n));
  },
};

const inWorkers = {
  litters() {
    for (;;) litter();
  },
  async awaits() {
    for (;;) await null;
  },
  misses() {
    for (;;) misses((n) => n);
  },
  async exits() {
    await null;
    process.nextTick(() => misses((n) => (n === 100 ? process.exit(30) : n)));
  },
};

/** What does not serve is not recorded. */
function whenServing(then) {
  require('node:http').createServer().listen(0, '127.0.0.1', then);
}

if (isMainThread) {
  whenServing(() => {
    setTimeout(async () => {
      await fs.promises.stat(__dirname);
      misses((n) => n);
      setImmediate(ways[process.env.EXIT_WAY]);
    }, 1);
  });
} else {
  whenServing(() => {
    // After two turns of the loop: its first poll is over then, and written.
    setImmediate(() =>
      setImmediate(() => {
        if (workerData !== 'exits') parentPort.postMessage('ready');
        inWorkers[workerData]();
      }),
    );
  });
}
