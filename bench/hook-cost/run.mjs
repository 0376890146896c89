// Measures what the probe's hooks in V8 cost per inline-cache miss: the same misses, recorded and
// paused in turns in one process, where a pause takes every hook out of V8.
//
//   node bench/hook-cost/run.mjs [ROUNDS]
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { quartiles } from '../harness/statistics.mjs';

const require = createRequire(import.meta.url);
const probe = require('../../packages/bobtail/native/bobtail-probe.node');
const ROUNDS = Number(process.argv[2] ?? 60);
const SHAPES = 20_000;

/** Objects of which no two have the same shape; `salt` makes them new ones. */
function shapes(salt) {
  return Array.from({ length: SHAPES }, (_, n) => ({ [`p${salt}_${n}`]: 0, x: n }));
}

function read(objects) {
  let sum = 0;
  for (const object of objects) sum += object.x;
  return sum;
}

const missesSoFar = () =>
  Object.entries(probe.inspect().work.calls ?? {})
    .filter(([name]) => name.includes('IC_Miss'))
    .reduce((sum, [, count]) => sum + count, 0);

/** Nanoseconds of CPU for the misses of new shapes; how many there were, if they are counted. */
function measure(salt) {
  const objects = shapes(salt);
  const before = missesSoFar();
  const startNs = process.hrtime.bigint();
  read(objects);
  const ns = Number(process.hrtime.bigint() - startNs);
  return { ns, misses: missesSoFar() - before };
}

const median = (list) => quartiles(list).median;

const out = mkdtempSync(join(tmpdir(), 'bobtail-hook-cost-'));
try {
  const { pid, version, arch } = process;
  const common = { pid, thread: 0, detail: 'full', nodeVersion: version, arch };
  probe.start({ path: join(out, `${pid}-0.trace`), maxBytes: 256e6, ...common });
  for (let n = 0; n < 5; n += 1) measure(`w${n}`);
  const costs = { on: [], off: [], again: [] };
  let misses = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = round % 2 === 0 ? ['off', 'on', 'again'] : ['again', 'on', 'off'];
    for (const arm of order) {
      if (arm === 'on') probe.resume();
      else probe.pause();
      const measured = measure(`${round}${arm}`);
      costs[arm].push(measured.ns / SHAPES);
      if (arm === 'on') misses += measured.misses;
    }
  }
  const perShape = misses / ROUNDS / SHAPES;
  const apart = (one, other) => median(one.map((ns, at) => ns - other[at]));
  console.log(
    `${process.version}: ${perShape.toFixed(2)} misses a shape; ` +
      `${median(costs.off).toFixed(0)} ns paused, ${median(costs.on).toFixed(0)} ns recorded: ` +
      `${(apart(costs.on, costs.off) / perShape).toFixed(1)} ns a miss ` +
      `(paused against paused: ${apart(costs.again, costs.off).toFixed(1)} ns)`,
  );
} finally {
  rmSync(out, { recursive: true });
}
process.exit(0);
