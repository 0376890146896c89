// For how long after the host took time are requests slow? By how much it took, and how busy the
// loop is.
//
//   node bench/stolen/after.mjs --out FILE [--seconds 120] [--rate 2500] [--node PATH]
//
// What `whatif` and `bench/boost` leave out around such times rests on this (`stolen.mjs`).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { StolenWatch } from '../../packages/bobtail/dist/cli/record/stolen.js';
import { exitOnSignals } from '../../workloads/harness/exit-on-signals.mjs';
import { Running } from '../boost/running.mjs';
import { requests } from '../boost/warm.mjs';
import { LOAD_CORE, pin, SERVER_CORE, threadNs } from '../harness/cpu.mjs';
import { Connections, openLoop } from '../harness/open-loop.mjs';
import { quantile } from '../harness/statistics.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    seconds: text('120'),
    rate: text('2500'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
  },
});
if (values.out === undefined) {
  process.stderr.write('usage: node bench/stolen/after.mjs --out FILE [--seconds S] [--rate R]\n');
  process.exit(64);
}
const CONNECTIONS = 64;
const WARM_S = 4;
/** Ends of classes, ms: since what was taken, and of how much it was. */
const SINCE_MS = [-50, 0, 25, 50, 100, 150, 200, 300, 500, Number.POSITIVE_INFINITY];
const TAKEN_MS = [10, 30, Number.POSITIVE_INFINITY];

/** The last interval that began before `dueMs` and 50 ms, or null. */
function lastBefore(intervals, dueMs) {
  let found = null;
  for (const one of intervals) {
    if (one.fromMs - 50 > dueMs) break;
    found = one;
  }
  return found;
}

const classOf = (ends, value) => ends.findIndex((end) => value <= end);

/** Latencies by how much was taken and how long ago: `[taken][since]`. */
function classes({ latenciesMs, dueMs }, intervals) {
  const table = TAKEN_MS.map(() => SINCE_MS.map(() => []));
  latenciesMs.forEach((latencyMs, index) => {
    const last = lastBefore(intervals, dueMs[index]);
    if (last === null) return;
    // Shortly before and meanwhile are the classes up to 0.
    const sinceMs = dueMs[index] < last.fromMs ? -50 : Math.max(0, dueMs[index] - last.untilMs);
    table[classOf(TAKEN_MS, last.takenMs)][classOf(SINCE_MS, sinceMs)].push(latencyMs);
  });
  return table;
}

function told(latenciesMs) {
  const sorted = latenciesMs.sort((a, b) => a - b);
  const count = sorted.length;
  if (count === 0) return { count };
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((q) => Number(quantile(sorted, q).toFixed(2)));
  return { count, p50, p90, p99 };
}

const load = (seconds) => {
  return { requests, ratePerS: Number(values.rate), durationMs: seconds * 1000 };
};

exitOnSignals();
pin(process.pid, LOAD_CORE);
const script = fileURLToPath(new URL('../boost/services/cpu.cjs', import.meta.url));
const where = { env: { SEED: '1', WORKERS: '0' }, core: SERVER_CORE, node: values.node };
const running = await Running.start([script], where);
const connections = await Connections.open(running.port, CONNECTIONS);
await openLoop(connections, load(WARM_S));
const { pid } = running.child;
const [loopNs, atMs] = [threadNs(pid, pid), performance.now()];
const watch = new StolenWatch();
const aheadMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();
const answered = await openLoop(connections, load(Number(values.seconds)));
watch.stop();
const busy = (threadNs(pid, pid) - loopNs) / ((performance.now() - atMs) * 1e6);
connections.close();
await running.stop();
const intervals = watch.intervals.map(({ fromNs, untilNs, takenNs }) => ({
  fromMs: fromNs / 1e6 - aheadMs,
  untilMs: untilNs / 1e6 - aheadMs,
  takenMs: takenNs / 1e6,
}));
const rows = classes(answered, intervals).flatMap((bySince, taken) =>
  bySince.map((latencies, since) => ({
    takenMsMax: TAKEN_MS[taken],
    sinceMsMax: SINCE_MS[since],
    ...told(latencies),
  })),
);
const about = { busy, ratePerS: Number(values.rate), seconds: Number(values.seconds) };
const counts = { intervals: intervals.length, takenMs: watch.totalNs / 1e6 };
const lines = rows.map((row) => JSON.stringify(row));
writeFileSync(values.out, `${JSON.stringify({ ...about, ...counts })}\n${lines.join('\n')}\n`);
