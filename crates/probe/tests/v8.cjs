'use strict';
// What the observed process does in each test of `v8.test.mjs`: it plants one kind of V8's own
// work, and prints what it measured itself as one line of JSON.

const fs = require('node:fs');
const path = require('node:path');
const { performance } = require('node:perf_hooks');
const v8 = require('node:v8');
const vm = require('node:vm');
const worker = require('node:worker_threads');

const [name, out, ...rest] = worker.isMainThread ? process.argv.slice(2) : worker.workerData;
const addon = { exports: {} };
process.dlopen(addon, process.env.BOBTAIL_PROBE);
const probe = addon.exports;

function start() {
  return probe.start({
    path: path.join(out, `${process.pid}-${worker.threadId}.trace`),
    pid: process.pid,
    thread: worker.threadId,
    detail: 'full',
    maxBytes: 64e6,
    nodeVersion: process.version,
    arch: process.arch,
  });
}

// biome-ignore lint/security/noGlobalEval: compiling by eval is what is measured
const indirectEval = globalThis.eval;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const nowNs = () => Number(process.hrtime.bigint());
const inspect = () => probe.inspect().work;

/** What V8 did meanwhile, and bounds of how long that took. */
function measure(run) {
  const outerNs = nowNs();
  const before = inspect();
  const innerNs = nowNs();
  run();
  const inner = nowNs() - innerNs;
  const after = inspect();
  const outer = nowNs() - outerNs;
  const spent = (key) => after[key] - before[key];
  return {
    inner,
    outer,
    native: spent('nativeNs'),
    gc: spent('gcNs'),
    jit: spent('jitNs'),
    ic: spent('icNs'),
  };
}

/** Source that takes a while to compile and none to run. */
function longSource(functions, salt) {
  const parts = [];
  for (let at = 0; at < functions; at++) {
    parts.push(`(function () { if (arguments.length === 0) return ${salt};
      let sum = 0; for (const { a, b: [c] } of arguments) { sum += a ** c ? c : \`\${a}${at}\`; }
      try { return sum.x.y(${at}, { ['k' + sum]: [1, 2, ...sum] }); } finally { sum = 0; } })();`);
  }
  return parts.join('\n');
}

function busy(ms) {
  const end = performance.now() + ms;
  let turns = 0;
  while (performance.now() < end) turns++;
  return turns;
}

/** Runs for some ten milliseconds and allocates nothing. */
function count(turns) {
  let sum = 0;
  for (let at = 0; at < turns; at++) sum = (sum * 31 + at) | 0;
  return sum;
}

const scenarios = {
  async collections() {
    start();
    const kept = [];
    for (let round = 0; round < 40; round++) {
      for (let at = 0; at < 30_000; at++) kept.push({ at, inner: { list: [at] } });
      if (kept.length > 500_000) kept.splice(0, 250_000);
      await sleep(1);
    }
    // Ends a marking that is under way, whose steps V8 tells only then.
    global.gc();
    const count = kept.length;
    kept.length = 1000;
    for (let round = 0; round < 6; round++) {
      await sleep(20);
      global.gc();
    }
    return { count };
  },

  async misses() {
    start();
    const snapshot = probe.inspect;
    const mark = {};
    const shapes = (at) => {
      const made = {};
      for (let key = 0; key < at % 40; key++) made[`p${(at * 7 + key) % 60}`] = key;
      made.x = at;
      return made;
    };
    const read = (from) => from.x + (from.y | 0);
    const churn = () => {
      let sum = 0;
      for (let at = 0; at < 3000; at++) {
        const made = shapes(at);
        sum += read(made);
        made.z = { ...made };
        sum += 'p1' in made ? 1 : 0;
      }
      return sum;
    };
    const first = snapshot();
    mark.bobtailBegin = 1;
    churn();
    mark.bobtailEnd = 1;
    const last = snapshot();
    const calls = {};
    for (const [key, count] of Object.entries(last.work.calls)) {
      calls[key] = count - first.work.calls[key];
    }
    return { calls };
  },

  async compilation() {
    start();
    return [1, 2, 3].map((round) => {
      const sources = [1, 2, 3, 4].map((salt) => longSource(700, 10 * round + salt));
      const script = measure(() => new vm.Script(sources[0]));
      const evaluated = measure(() => indirectEval(`() => {${sources[1]}}`));
      const made = measure(() => new Function(sources[2]));
      const lazy = new vm.Script(`() => { if (true) return; ${sources[3]} }`).runInThisContext();
      const called = measure(() => lazy());
      return { script, evaluated, made, called };
    });
  },

  async compiled() {
    start();
    const mark = {};
    const make = (at) => new vm.Script(`function lazy${at}() { return ${at}; } lazy${at}`);
    const lazy = Array.from({ length: 50 }, (_, at) => make(at).runInThisContext());
    // One function that is compiled once, however often it is made.
    lazy.push(...indirectEval('[1, 2, 3].map((at) => () => at)'));
    const seen = { scripts: 0, evals: 0, functions: 0 };
    const one = (what, compile) => {
      if (measure(compile).jit > 0) seen[what]++;
    };
    one('scripts', () => new vm.Script('0'));
    const first = inspect();
    mark.bobtailBegin = 1;
    for (const each of lazy) each();
    const last = inspect();
    mark.bobtailLazy = 1;
    for (let at = 0; at < 20; at++) one('scripts', () => new vm.Script(`var script${at} = ${at};`));
    for (let at = 0; at < 20; at++) one('evals', () => indirectEval(`var evaluated${at} = ${at};`));
    for (let at = 0; at < 20; at++) one('functions', () => new Function(`return ${at};`));
    mark.bobtailEnd = 1;
    seen.scripts--;
    return { ...seen, lazy: last.calls.CompileLazy - first.calls.CompileLazy };
  },

  async functions() {
    start();
    const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];
    // Short ones, of which V8's log tells the smaller part.
    // With `new`: without, optimized code calls the builtin itself, which nothing sees.
    const make = (Made, salt) => {
      for (let at = 0; at < 100; at++) new Made('a', 'b', `return ${salt} + ${at};`);
    };
    const before = inspect().calls;
    const rounds = [1, 2, 3, 4, 5].map((round) =>
      kinds.map((like, kind) => measure(() => make(like.constructor, 10 * round + kind))),
    );
    const after = inspect().calls;
    const names = Object.keys(after).filter((name) => name.endsWith('FunctionConstructor'));
    return { rounds, calls: names.map((name) => after[name] - before[name]) };
  },

  async cache() {
    const source = longSource(50, 5);
    const { cachedData } = new vm.Script(source, { produceCachedData: true });
    const tag = v8.cachedDataVersionTag();
    process.chdir(out);
    const accepts = () => new vm.Script(source, { cachedData }).cachedDataRejected === false;
    const before = accepts();
    start();
    const after = accepts();
    const child = new worker.Worker(__filename, { workerData: ['inWorker', out, source] });
    child.postMessage(cachedData);
    const inWorker = await new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('error', reject);
    });
    await child.terminate();
    const tags = [tag, v8.cachedDataVersionTag(), inWorker.tag];
    return { accepted: [before, after, inWorker.accepted], tags, files: fs.readdirSync(out) };
  },

  async inWorker([source]) {
    const cachedData = await new Promise((resolve) => worker.parentPort.once('message', resolve));
    start();
    const { cachedDataRejected } = new vm.Script(source, { cachedData: Buffer.from(cachedData) });
    const tag = v8.cachedDataVersionTag();
    worker.parentPort.postMessage({ accepted: cachedDataRejected === false, tag });
  },

  async native() {
    const { mechanisms } = start();
    for (let round = 0; round < 100; round++) count(200_000);
    const rounds = [1, 2, 3, 4, 5].map(() => measure(() => count(20_000_000)));
    return { mechanisms, rounds };
  },

  async getters() {
    start();
    const read = (from) => from.q;
    let thrown = 0;
    const get = (at) => {
      busy(1);
      if (at % 2) throw new Error('planted');
      return 1;
    };
    const spent = measure(() => {
      for (let at = 0; at < 100; at++) {
        const made = {
          get q() {
            return get(at);
          },
        };
        made[`k${at}`] = 1;
        try {
          read(made);
        } catch {
          thrown++;
        }
      }
    });
    return { spent, thrown, unbalanced: inspect().unbalanced };
  },

  async totals() {
    start();
    for (let round = 0; round < 5; round++) {
      new vm.Script(longSource(100, 100 + round));
      for (let at = 0; at < 2000; at++) ({ [`k${at % 97}`]: at })[`k${at % 13}`];
      await sleep(1);
    }
    // The first look misses on what it looks up, after it has counted: nothing may miss after the
    // one that is compared. No loop: its end may compile.
    const { stop } = probe;
    inspect();
    const work = inspect();
    stop();
    return { work };
  },
};

scenarios[name](rest).then(
  (result) => {
    if (!result || !worker.isMainThread) return;
    process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
