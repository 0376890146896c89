// Counts the instructions of a request in user space, alone and recorded: what recording adds, and
// in which functions, without a clock and so without the noise of a shared machine.
//
//   node bench/overhead/instructions.mjs [--node PATH]… [--service NAME]… [--arm NAME]…
//     [--warm 4000] [--settle 500] [--requests 1000] [--windows 3] --out DIR
//
// Needs valgrind. The service runs with its JIT under callgrind, which counts only after the
// warm-up, while one connection asks one request after the other. The kernel's part is not counted,
// and a clock is a system call under valgrind: so calls of it are counted, too.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { nodeBinaries } from '../../workloads/harness/nodes.mjs';
import { requestBytes } from '../harness/open-loop.mjs';
import { prepareArm } from '../peers/arms.mjs';
import { SERVICES } from '../peers/cell.mjs';
import { Service } from '../peers/service.mjs';
import { readProfile } from './callgrind-profile.mjs';
import { instructionTables, isCounted, summary } from './instruction-tables.mjs';

/** V8 does at once, on the one thread and at the same points, what it does whenever it can else. */
const V8_FLAGS = ['--predictable', '--random-seed=1', '--hash-seed=1'];
/** valgrind takes its time. */
const START_MS_MAX = 300_000;
/** Functions with fewer instructions per request are left out of the raw data. */
const WORTH_KEEPING = 20;
const list = { type: 'string', multiple: true };
const count = (fallback) => ({ type: 'string', default: String(fallback) });
const { values } = parseArgs({
  options: {
    node: list,
    service: { ...list, default: ['http', 'express', 'promises'] },
    arm: { ...list, default: ['off', 'off2', 'loop', 'full'] },
    warm: count(4000),
    settle: count(500),
    requests: count(1000),
    windows: count(3),
    out: { type: 'string' },
  },
});
if (values.out === undefined) throw new Error('--out DIR is missing');

function control(pid, ...command) {
  execFileSync('vgdb', [`--pid=${pid}`, ...command], { stdio: 'ignore' });
}

/** One request after the other, so that every run does the same. */
async function ask(connections, requests, total) {
  for (let i = 0; i < total; i += 1) {
    const connection = connections.take();
    const ok = await new Promise((done) => {
      connection.done = done;
      connection.socket.write(requests[i % requests.length]);
    });
    if (!ok) throw new Error('the service answered with an error');
    connections.give(connection);
  }
}

/** What the threads executed since the counters were set to 0: the loop's, and the others. */
function takeWindow(folder) {
  const threads = readdirSync(folder).filter((name) => /^profile\.\d+-\d+$/.test(name));
  const window = { functions: [], others: 0 };
  for (const name of threads) {
    const functions = [...readProfile(join(folder, name)).values()];
    if (name.endsWith('-01')) window.functions = functions;
    else for (const { self } of functions) window.others += self;
    rmSync(join(folder, name));
  }
  return window;
}

async function measure(arm, context) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-instructions-'));
  const prepared = prepareArm(arm, { ...context, scratch: folder, sinkPort: 0 });
  const callgrind = ['--tool=callgrind', '--instr-atstart=no', '--separate-threads=yes'];
  prepared.under = ['valgrind', '-q', ...callgrind];
  prepared.under.push(`--callgrind-out-file=${join(folder, 'profile')}`);
  prepared.startMsMax = START_MS_MAX;
  prepared.nodeArgs = [...V8_FLAGS, ...prepared.nodeArgs];
  const started = { ...context, arm: prepared, environment: {}, connections: 1 };
  const service = await Service.start(arm, started);
  try {
    const requests = SERVICES[context.service].paths.map(requestBytes);
    await ask(service.connections, requests, Number(values.warm));
    control(service.pid, 'instrumentation', 'on');
    await ask(service.connections, requests, Number(values.settle));
    const windows = [];
    for (let i = 0; i < Number(values.windows); i += 1) {
      control(service.pid, 'zero');
      await ask(service.connections, requests, Number(values.requests));
      control(service.pid, 'dump');
      windows.push(takeWindow(folder));
    }
    return windows;
  } finally {
    service.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One line a function that matters: which window, where it is, what it costs itself. */
function functionRows(window, { functions }) {
  const requests = Number(values.requests);
  const rows = [];
  for (const { object, name, self, calls } of functions.sort((a, b) => b.self - a.self)) {
    if (self < WORTH_KEEPING * requests && !isCounted(name)) continue;
    const place = object.split('/').at(-1);
    const quoted = `"${name.replaceAll('"', "'")}"`;
    rows.push([window, place, quoted, self / requests, calls / requests].join(','));
  }
  return rows;
}

function save(arm, name, windows) {
  const requests = Number(values.requests);
  const head = 'window,object,function,instructions,calls';
  const rows = windows.flatMap((window, i) => functionRows(i, window));
  writeFileSync(
    join(values.out, `${name}-${arm}.functions.csv`),
    `${[head, ...rows].join('\n')}\n`,
  );
  return windows.map(({ functions, others }) => summary(functions, others, requests));
}

/** What an earlier run put into the same folder: arms can be measured one by one. */
function earlierArms(file) {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).arms : {};
}

function allCells() {
  const files = readdirSync(values.out).filter((file) => file.endsWith('.json'));
  return files.map((file) => JSON.parse(readFileSync(join(values.out, file), 'utf8')));
}

mkdirSync(values.out, { recursive: true });
for (const node of values.node ?? nodeBinaries()) {
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
  const major = Number.parseInt(version, 10);
  for (const service of values.service) {
    const name = `node${major}-${service}`;
    const file = join(values.out, `${name}.json`);
    for (const arm of values.arm) {
      process.stderr.write(`${name} ${arm}\n`);
      const windows = save(arm, name, await measure(arm, { node, major, service }));
      const arms = { ...earlierArms(file), [arm]: windows };
      const cell = { node: version, service, arms };
      writeFileSync(file, `${JSON.stringify(cell, null, 2)}\n`);
    }
  }
}
const markdown = instructionTables(allCells());
writeFileSync(join(values.out, 'tables.md'), markdown);
process.stdout.write(markdown);
