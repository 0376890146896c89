'use strict';
// Scenarios of `scenarios.cjs` that are about the thread and its recording: no sockets.

const crypto = require('node:crypto');
const fs = require('node:fs');
const { constants, performance, PerformanceObserver } = require('node:perf_hooks');
const { promisify } = require('node:util');
const { out, probe, sleep, spin, start } = require('./observed-process.cjs');

module.exports = {
  async full() {
    start({ maxBytes: 1e9, chunkBytes: 65536 });
    let done = 0;
    const round = async () => {
      await Promise.all(Array.from({ length: 50 }, () => promisify(crypto.randomBytes)(16)));
      done += 50;
    };
    while (probe.inspect().losses['disk-full'] === 0) await round();
    for (let n = 0; n < 10; n++) await round();
    return { done, inspect: probe.inspect() };
  },

  async timers() {
    start();
    for (let n = 0; n < 20; n++) {
      await sleep(3);
      await promisify(setImmediate)();
    }
    setTimeout(() => {}, 5);
    spin(30);
    await sleep(10);
    return {};
  },

  async collections() {
    start();
    let seen = 0;
    const observer = new PerformanceObserver((list) => {
      const step = constants.NODE_PERFORMANCE_GC_INCREMENTAL;
      seen += list.getEntries().filter(({ detail }) => detail.kind !== step).length;
    });
    observer.observe({ entryTypes: ['gc'] });
    let kept = [];
    for (let n = 0; n < 400; n++) {
      kept.push(Array.from({ length: 20000 }, (_, i) => ({ i })));
      if (kept.length > 20) kept = [];
      if (n % 40 === 0) globalThis.gc();
      await promisify(setImmediate)();
    }
    await sleep(50);
    observer.disconnect();
    return { seen };
  },

  async rolling() {
    start({ chunkBytes: 8192, maxBytes: 8192 * 20 + (1 << 20) });
    while (probe.inspect().chunk <= 30) {
      await Promise.all([promisify(crypto.randomBytes)(8), promisify(crypto.randomBytes)(8)]);
    }
    return { inspect: probe.inspect() };
  },

  // As if four thousand million events had been: the numbers end while it records.
  async numbers() {
    const { live } = start({ chunkBytes: 65536 });
    const words = new Uint32Array(live, 1024, 32);
    words[2] = 0xfffff000;
    while (words[13] === 0) {
      await promisify(crypto.randomBytes)(8);
      // The mark is no more than a record, and lost where no chunk is ready for it.
      const { chunk, chunksMapped } = probe.inspect();
      if (chunksMapped <= chunk) await sleep(1);
    }
    const position = words[0];
    await promisify(crypto.randomBytes)(8);
    return { last: words[2], silent: words[0] === position, resumed: probe.resume() !== undefined };
  },

  // Each start is refused at another step; what was taken before must be given back.
  async unable() {
    const codes = new Set();
    const attempt = (options) => {
      try {
        start(options);
      } catch (error) {
        codes.add(error.code);
      }
    };
    const held = () => [
      fs.readdirSync('/proc/self/fd').length,
      fs.readFileSync('/proc/self/maps', 'utf8').split('\n').length,
    ];
    const refuse = () => {
      attempt({ path: '/no/such/folder/x.trace' });
      attempt({ path: '/dev/null' });
      attempt({});
    };
    refuse();
    const before = held();
    for (let n = 0; n < 300; n++) refuse();
    const after = held();
    const files = fs.readdirSync(out);
    return { codes: [...codes], before, after, files, device: fs.existsSync('/dev/null') };
  },

  // Time goes by in native code; the first function entered after it has done nothing.
  async entered() {
    start();
    const orders = Array.from({ length: 5_000 }, (_, id) => ({ id, customer: `customer ${id}` }));
    class Clock {
      read() {
        return performance.now();
      }
    }
    const clock = new Clock();
    const helpers = [
      function now() {
        return performance.now();
      },
      () => {
        return performance.now();
      },
      (_) => {
        return performance.now();
      },
      clock.read,
    ];
    function serializeEverything(helper) {
      const end = performance.now() + 100;
      while (helper() < end) JSON.stringify(orders);
    }
    for (const helper of [...helpers, ...helpers]) {
      await sleep(2);
      await new Promise((resolve) => setTimeout(() => resolve(serializeEverything(helper)), 2));
    }
    return {};
  },

  async location() {
    start();
    // By the thread's own time, which is what it is looked at by (`process.cpuUsage` has V8's other
    // threads in it); and several times, for whoever looks may come late.
    const ranNs = () =>
      Number(fs.readFileSync('/proc/thread-self/schedstat', 'latin1').split(' ')[0]);
    function slowFunction() {
      const endNs = ranNs() + 50e6;
      while (ranNs() < endNs) spin(1);
    }
    for (let n = 0; n < 8; n++) {
      await sleep(5);
      slowFunction();
    }
    await sleep(20);
    return {};
  },

  async control() {
    const errors = [];
    const attempt = (options) => {
      try {
        start(options);
      } catch (error) {
        errors.push(error.code);
      }
    };
    attempt({ path: '/no/such/folder/x.trace' });
    attempt({ path: 7 });
    const { live, ring, context, startNs } = start();
    attempt();
    const drift = Number(process.hrtime.bigint() - startNs);
    const id = probe.intern('GET /a');
    const same = probe.intern('GET /a');
    const words = new Uint32Array(live, 1024, 32);
    probe.begin(12);
    const open = words[4];
    probe.pause();
    const position = words[0];
    await sleep(5);
    const silent = words[0] === position;
    probe.resume();
    await sleep(5);
    const goesOn = words[0] > position;
    const stopped = [probe.stop(), probe.stop()];
    const last = words[0];
    await sleep(5);
    const sizes = [live.byteLength, ring.byteLength, context.byteLength];
    const ended = words[0] === last && words[10] === 1;
    return { errors, drift, id, same, open, silent, goesOn, stopped, sizes, ended };
  },
};
