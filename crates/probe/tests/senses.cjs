// Scenarios for senses.test.mjs, run inside a real Node: what a loop shows unrecorded.
'use strict';
const { readFileSync } = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { Worker, isMainThread } = require('node:worker_threads');

const probe = { exports: {} };
process.dlopen(probe, process.env.BOBTAIL_PROBE);
const { sense, unsense, readSenses, start, stop } = probe.exports;
const [, , name, out] = process.argv;

const CONNECTIONS = 8;

function spin(forMs) {
  const until = Date.now() + forMs;
  while (Date.now() < until);
}

const codeOf = (run) => {
  try {
    run();
    return null;
  } catch (error) {
    return error.code ?? error.message;
  }
};

const trace = (file) => ({
  path: path.join(out, file),
  pid: process.pid,
  thread: 0,
  detail: 'loop',
  nodeVersion: process.version,
  arch: process.arch,
});

/** Several connections between a server and clients of this process. */
async function connected() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  const accepted = new Promise((resolve) => {
    const sockets = [];
    server.on('connection', (socket) => sockets.push(socket) === CONNECTIONS && resolve(sockets));
  });
  const clients = Array.from({ length: CONNECTIONS }, () => net.connect(port, '127.0.0.1'));
  return { server, clients, sockets: await accepted };
}

/** What each of several sockets sees whose bytes came while the loop was busy. */
async function queue() {
  const { mechanisms } = sense();
  const seen = [];
  const { server, clients, sockets } = await connected();
  const all = new Promise((resolve) => {
    for (const socket of sockets) {
      socket.on('data', () => {
        seen.push(readSenses());
        spin(2);
        if (seen.length === CONNECTIONS) resolve();
      });
    }
  });
  setImmediate(() => {
    for (const client of clients) client.write('x');
    // All bytes are there before the loop asks again.
    spin(20);
  });
  await all;
  for (const client of clients) client.destroy();
  server.close();
  return { mechanisms, seen };
}

/** How long requests took that came while the loop was busy, and others that came later. */
async function latencies() {
  const file = path.join(out, 'latencies');
  const { mechanisms } = sense(file);
  const { server, clients, sockets } = await connected();
  for (const socket of sockets) {
    socket.on('data', () => {
      spin(2);
      // Of an answer in two pieces the first counts.
      socket.write('y');
      socket.write('z');
    });
  }
  const answers = () =>
    Promise.all(clients.map((client) => new Promise((resolve) => client.once('data', resolve))));
  const startNs = process.hrtime.bigint();
  const late = answers();
  // In the turn after this one: bytes without a stamp count from when the loop last asked.
  setImmediate(() =>
    setImmediate(() => {
      for (const client of clients) client.write('x');
      spin(20);
    }),
  );
  await late;
  const lateNs = Number(process.hrtime.bigint() - startNs);
  const afterLate = latencyWords(file);
  for (const client of clients) {
    const answered = new Promise((resolve) => client.once('data', resolve));
    client.write('x');
    await answered;
  }
  const both = latencyWords(file);
  for (const client of clients) client.destroy();
  server.close();
  return { mechanisms, late: afterLate, lateNs, both, allNs: both.sumNs - afterLate.sumNs };
}

/** The file of latencies: how many there are, their sum and the longest. */
function latencyWords(file) {
  const bytes = require('node:fs').readFileSync(file);
  const word = (index) => Number(bytes.readBigUInt64LE(index * 8));
  let count = 0;
  for (let index = 4; index < bytes.length / 8; index += 1) count += word(index);
  return { mark: bytes.toString('latin1', 0, 8), count, sumNs: word(1), longestNs: word(2) };
}

/** Collections counted by V8's callbacks, with and without senses. */
function collections() {
  sense();
  const count = (run) => {
    const before = readSenses().collections;
    run();
    return readSenses().collections - before;
  };
  const idle = count(() => {});
  const five = count(() => {
    for (let n = 0; n < 5; n++) globalThis.gc();
  });
  const { collecting } = readSenses();
  return { idle, five, collecting, ended: unsense(), after: readSenses() ?? null };
}

function refusals() {
  const results = { none: readSenses() ?? null, unsensed: unsense() };
  sense();
  results.again = codeOf(sense);
  results.recorded = codeOf(() => start(trace('refused.trace')));
  results.stopped = unsense();
  start(trace('own.trace'));
  results.sensed = codeOf(sense);
  stop();
  sense();
  results.senses = readSenses();
  results.child = spawnSync(process.execPath, ['-p', '6*7'], { encoding: 'utf8' }).stdout.trim();
  return results;
}

/** Workers that are sensed, and ended in the middle of it. */
async function workers() {
  sense();
  const own = [];
  for (let n = 0; n < 20; n++) {
    const worker = new Worker(__filename, { argv: ['worker', out] });
    own.push(await new Promise((resolve) => worker.once('message', resolve)));
    await worker.terminate();
  }
  return { own, main: readSenses() };
}

function worker() {
  const { parentPort } = require('node:worker_threads');
  sense();
  setInterval(() => {
    spin(1);
  }, 1);
  // The second timer: the first may be due before the loop has ever polled.
  setTimeout(() => setTimeout(() => parentPort.postMessage(readSenses()), 2), 1);
}

/** As `packages/bobtail/src/cli/boost/driver-file.ts` has them. */
const COUNTERS = {
  ...{ ranNs: 2, looks: 3, lookingNs: 4, boosts: 5, boostedNs: 6, forCollection: 7 },
  ...{ forQueueLength: 8, forHead: 9, forLongTurn: 10, refused: 11, lostNs: 12 },
};
const told = `${out}.counters`;

function drive(options) {
  return probe.exports.drive({ ...options, told });
}

/** What the driver has told until now. */
function readDriver() {
  const bytes = readFileSync(told);
  const numbers = Object.entries(COUNTERS).map(([name, word]) => {
    return [name, Number(bytes.readBigUInt64LE(8 * word))];
  });
  return Object.fromEntries(numbers);
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const LEVER = { actuator: 'emulated' };

/** Collections, each a boost, and pauses between them. */
async function collectionsBoosted() {
  sense();
  const driver = drive({ policy: 'gc-boost:worth=0,hold=1ms', ...LEVER });
  const before = readDriver();
  for (let n = 0; n < 20; n++) {
    globalThis.gc();
    await sleep(10);
  }
  const after = readDriver();
  await sleep(50);
  const later = readDriver();
  await sleep(20);
  const last = readDriver();
  return { driver, before, after, later, last, again: codeOf(() => drive({})) };
}

/** Many short events, then a long one. */
async function longEvent() {
  sense();
  drive({ policy: 'queue-boost:k=3,window=32,head-min=5ms', ...LEVER });
  for (let n = 0; n < 100; n++) {
    await new Promise((resolve) => require('node:fs').stat('/', resolve));
  }
  // Where others kept one of these from its processor, it was boosted; that is over then.
  await sleep(50);
  const before = readDriver();
  spin(300);
  return { before, after: readDriver() };
}

/** Turns of 2 ms until they are known, then one of 300 ms. */
async function longTurn() {
  sense();
  drive({ policy: 'deadline', ...LEVER });
  for (let n = 0; n < 150; n++) {
    await new Promise((resolve) => require('node:fs').stat('/', resolve));
    spin(2);
  }
  const before = readDriver();
  spin(300);
  return { before, after: readDriver() };
}

function notDriven() {
  const codes = {};
  for (const [what, options] of Object.entries({
    policy: { policy: 'nonsense', ...LEVER },
    setting: { policy: 'queue-boost:k=0.1', ...LEVER },
    lever: { policy: 'gc-boost', actuator: 'nonsense' },
    range: { policy: 'gc-boost', ...LEVER, baseKhz: 1 },
  })) {
    codes[what] = codeOf(() => drive(options));
  }
  return codes;
}

const driving = { collectionsBoosted, longEvent, longTurn, notDriven };
const scenarios = {
  ...driving,
  queue,
  latencies,
  collections,
  refusals,
  workers,
  worker,
};
Promise.resolve(scenarios[name]()).then((result) => {
  if (isMainThread) process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
});
