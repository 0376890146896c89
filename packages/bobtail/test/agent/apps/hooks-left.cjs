'use strict';
// A server in bursts that does the same work within and between them, and looks each time, from
// the inside, what of Bobtail is at work: which functions of the agent V8 counted, what hooks
// Node's async_hooks and V8's isolate have, what the probe's threads did. Needs --expose-internals.
const { performance } = require('node:perf_hooks');
const fs = require('node:fs');
const http = require('node:http');
const inspector = require('node:inspector');
const path = require('node:path');
const { internalBinding } = require('internal/test/binding');

const LOOKS = 2;
const { BOBTAIL_TEST_AGENT: agent, BOBTAIL_TEST_HOOK_WORDS: addon } = process.env;
const { look } = require(addon);
const { async_hook_fields: fields, constants } = internalBinding('async_wrap');
const session = new inspector.Session();
session.connect();

function post(method, parameters) {
  let result;
  session.post(method, parameters, (error, answer) => {
    if (error) throw new Error(error.message);
    result = answer;
  });
  return result;
}

/** Calls since the last look of each function of the agent. */
function callsOfAgent() {
  const { result } = post('Profiler.takePreciseCoverage');
  const calls = {};
  for (const { url, functions } of result.filter(({ url }) => url.includes(agent))) {
    for (const { functionName, ranges } of functions) {
      const name = `${path.basename(url, '.js')}.${functionName}`;
      if (ranges[0].count > 0) calls[name] = (calls[name] ?? 0) + ranges[0].count;
    }
  }
  return calls;
}

/** How often the probe's threads waited. */
function waitsOfThreads() {
  const waits = {};
  for (const thread of fs.readdirSync('/proc/self/task')) {
    const text = fs.readFileSync(`/proc/self/task/${thread}/status`, 'utf8');
    const name = /^Name:\s+(.*)$/m.exec(text)[1];
    if (!name.startsWith('bobtail-')) continue;
    waits[name] = Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(text)[1]);
  }
  return waits;
}

/** Timers that processes ask the kernel for; a kernel need not tell. */
function timersOfThreads() {
  if (!fs.existsSync('/proc/self/timers')) return 0;
  return fs.readFileSync('/proc/self/timers', 'utf8').match(/^ID:/gm)?.length ?? 0;
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Something of each kind that is followed. */
async function work(port) {
  process.nextTick(() => queueMicrotask(() => undefined));
  await new Promise((resolve) => setImmediate(resolve));
  await fs.promises.readFile(__filename);
  await new Promise((resolve) => {
    http.get({ port, host: '127.0.0.1', agent: false }, (response) =>
      response.resume().on('end', resolve),
    );
  });
  // Collects, compiles, and misses.
  globalThis.gc({ type: 'minor' });
  new Function(`(() => { const read = (from) => from.x${Math.random().toString(36).slice(2)};
    for (let at = 0; at < 1000; at++) read({ at }); })()`)();
  await sleep(5);
}

async function main(port) {
  const { takeSession } = require(path.join(agent, 'session.js'));
  const { isRecording } = require(path.join(agent, 'bursts.js'));
  const native = require(path.join(agent, '../../native/bobtail-probe.node'));
  const live = new Uint32Array(takeSession().live, 1024, 16);
  // The agent asks the object each time, so every turn is seen.
  const turns = { pause: 0, resume: 0 };
  for (const turn of Object.keys(turns)) {
    const plain = takeSession()[turn];
    takeSession()[turn] = () => {
      turns[turn]++;
      return plain();
    };
  }
  // What is called once, such as by the first connection, is over.
  await work(port);
  post('Profiler.enable');
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const looks = { within: [], between: [] };
  while (looks.within.length < LOOKS || looks.between.length < LOOKS) {
    const turn = turns.pause + turns.resume;
    const list = isRecording() ? looks.within : looks.between;
    callsOfAgent();
    const before = { events: live[2], position: live[0], batches: native.inspect().batches };
    await work(port);
    const one = {
      calls: callsOfAgent(),
      hooks: look(),
      asyncHooks: fields[constants.kTotals],
      events: live[2] - before.events,
      bytes: live[0] - before.position,
      batches: native.inspect().batches - before.batches,
      perfEvents: fs.readFileSync('/proc/self/maps', 'utf8').split('[perf_event]').length - 1,
      timers: timersOfThreads(),
    };
    const waits = waitsOfThreads();
    const startMs = performance.now();
    // The rest of the time until the next turn is what the threads are watched for.
    while (turns.pause + turns.resume === turn) {
      one.waitedMs = performance.now() - startMs;
      one.waits = waitsOfThreads();
      await sleep(10);
    }
    if (one.waits === undefined || list.length === LOOKS) continue;
    for (const [name, count] of Object.entries(waits)) one.waits[name] -= count;
    list.push(one);
  }
  console.log(JSON.stringify(looks));
  process.exit(0);
}

const server = http.createServer((_, response) => response.end('ok'));
server.listen(0, '127.0.0.1', () => main(server.address().port));
