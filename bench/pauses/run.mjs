// What lies within a pause as Bobtail records it and outside what `--trace-gc` prints.
//
// The kernel stops at functions of the running V8 (uprobes) and tells when: V8 takes the begin and
// the end of what it prints right before it calls the two functions of its tracer, and prints in a
// third. Needs root, perf(1), a Node with symbols, a built probe (BOBTAIL_PROBE) and the `dump`
// example (BOBTAIL_DUMP), as the suites of the probe do.
//
//   node bench/pauses/run.mjs [--node PATH]… [--runs 3] [--out FILE]
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { only, probe } from '../../crates/probe/tests/observed.mjs';
import { printedPauses } from '../../crates/probe/tests/v8-slices.mjs';
import { Executable } from '../../workloads/harness/executable.mjs';
import { nodeBinaries } from '../../workloads/harness/nodes.mjs';

const EVENTS = '/sys/kernel/tracing/uprobe_events';
const GROUP = 'bobtail_pauses';
const SCENARIO = fileURLToPath(new URL('../../crates/probe/tests/v8.cjs', import.meta.url));
/** Methods of V8's tracer, none of their variables. */
const GC_TRACER = /^_ZNK?2v88internal8GCTracer/;
const KINDS = { 1: 'Scavenge', 4: 'Mark-Compact' };
const PARTS = ['beforeNs', 'pauseNs', 'untilPrintNs', 'printNs', 'afterNs'];
const { values } = parseArgs({
  options: {
    node: { type: 'string', multiple: true },
    runs: { type: 'string', default: '3' },
    out: { type: 'string' },
  },
});

/** Offsets in the file of the functions between which a pause is cut. */
function placesIn(node) {
  const file = new Executable(node);
  const offset = (name) => file.offsetOf(file.addressLike(GC_TRACER, name));
  const places = {
    start: offset('20StartObservablePause'),
    stop: offset('19StopObservablePause'),
    print: offset('5PrintEv'),
  };
  file.close();
  return places;
}

function addEvents(node) {
  const { start, stop, print } = placesIn(node);
  const add = (kind, name, at) =>
    appendFileSync(EVENTS, `${kind}:${GROUP}/${name} ${node}:0x${at.toString(16)}\n`);
  add('p', 'start', start);
  add('p', 'stop', stop);
  add('p', 'print', print);
  add('r', 'printed', print);
}

function removeEvents() {
  for (const name of ['start', 'stop', 'print', 'printed']) {
    appendFileSync(EVENTS, `-:${GROUP}/${name}\n`);
  }
}

/** `{name, atNs}` of each stop of the kernel's, on the clock of the trace. */
function stops(file) {
  const args = ['script', '--ns', '-F', 'time,event', '-i', file];
  const text = execFileSync('perf', args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  return [...text.matchAll(/(\d+)\.(\d{9}): +bobtail_pauses:(\w+):/g)].map(
    ([, seconds, fraction, name]) => ({ name, atNs: Number(seconds) * 1e9 + Number(fraction) }),
  );
}

/** One run: each pause with its parts, and what V8 printed of it. */
function run(node) {
  const out = mkdtempSync(join(tmpdir(), 'bobtail-pauses-'));
  try {
    const flags = ['--trace-gc', '--expose-gc', '--max-semi-space-size=4'];
    flags.push('--no-concurrent-marking');
    const file = join(out, 'perf.data');
    const perf = ['record', '--quiet', '-k', 'CLOCK_MONOTONIC', '-e', `${GROUP}:*`, '-o', file];
    const command = [node, ...flags, SCENARIO, 'collections', out];
    const env = { ...process.env, BOBTAIL_PROBE: probe };
    // Into a file: who reads a pipe would be woken up within the pause.
    const lines = join(out, 'stdout');
    const stdio = ['ignore', openSync(lines, 'w'), 'pipe'];
    const { status, stderr } = spawnSync('perf', [...perf, '--', ...command], { env, stdio });
    closeSync(stdio[1]);
    if (status !== 0) throw new Error(`perf record ended with ${status}: ${stderr}`);
    const trace = only(out);
    const startNs = Number(trace.text.match(/^start (\d+)/m)[1]);
    const pauses = trace.of('gc').filter(({ kind }) => kind in KINDS);
    const printed = printedPauses(readFileSync(lines, 'utf8')).slice(-pauses.length);
    const seen = stops(file);
    return pauses.map(({ at, begin, kind }, index) => {
      const [beginNs, endNs] = [startNs + Number(begin), startNs + at];
      const within = seen.filter(({ atNs }) => atNs >= beginNs && atNs <= endNs);
      const names = within.map(({ name }) => name).join();
      if (names !== 'start,stop,print,printed') throw new Error(`a pause has ${names || 'none'}`);
      const edges = [beginNs, ...within.map(({ atNs }) => atNs), endNs];
      const parts = PARTS.map((name, part) => [name, edges[part + 1] - edges[part]]);
      const { kind: printedKind, durationNs: printedNs } = printed[index];
      if (printedKind !== KINDS[kind]) throw new Error(`${KINDS[kind]} is printed ${printedKind}`);
      return { kind: printedKind, ownNs: endNs - beginNs, printedNs, ...Object.fromEntries(parts) };
    });
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function row(version, at, pauses) {
  const total = (key) => pauses.reduce((sum, one) => sum + one[key], 0);
  const each = PARTS.map((part) => (total(part) / pauses.length / 1e3).toFixed(1));
  const [own, printed] = [total('ownNs'), total('printedNs')];
  const share = `${((own / printed - 1) * 100).toFixed(2)} %`;
  const sums = [own, printed].map((ns) => (ns / 1e6).toFixed(3));
  const cells = [version, at, `${pauses.length} ${pauses[0].kind}`, ...sums, share, ...each];
  return `| ${cells.join(' | ')} |`;
}

const SUMS = '| Node | run | pauses | recorded (ms) | printed (ms) | more |';
const EACH = ' before (µs each) | V8 pauses | until it prints | it prints | after |';
const lines = [SUMS + EACH, '|---|---|---|---|---|---|---|---|---|---|---|'];
const results = [];
for (const node of values.node ?? nodeBinaries()) {
  const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim();
  addEvents(node);
  try {
    for (let at = 1; at <= Number(values.runs); at++) {
      const pauses = run(node);
      results.push({ node: version, run: at, pauses });
      for (const kind of Object.values(KINDS)) {
        lines.push(
          row(
            version,
            at,
            pauses.filter((one) => one.kind === kind),
          ),
        );
      }
    }
  } finally {
    removeEvents();
  }
}
process.stdout.write(`${lines.join('\n')}\n`);
if (values.out) writeFileSync(values.out, `${JSON.stringify(results)}\n`);
