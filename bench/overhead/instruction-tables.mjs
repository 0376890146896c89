// Sums instructions by who executes them, and makes the tables of a run.
//
// The groups are those that a decision can be made about: what the probe does, what JavaScript does
// (also the application's: only the difference between arms tells whose), what V8's C++ does when
// it is called by either, and what happens now and then whatever is recorded.
import { quartiles } from '../harness/statistics.mjs';

const GROUPS = [
  ['probe', ({ object }) => object.includes('bobtail-probe')],
  ['compiled JavaScript', ({ object }) => object === '???' || object === ''],
  ["V8's builtins", ({ name }) => name.startsWith('Builtins_')],
  [
    'compilation',
    ({ name }) => /v8::internal::(\S*::)?(compiler|maglev|baseline|interpreter)::/.test(name),
  ],
  [
    'collections',
    ({ name }) => /Scaveng|Marking|Sweeper|Evacuat|RootVisitor|Heap::|GCTracer/.test(name),
  ],
  ['libc', ({ object }) => /\/(libc|libpthread|ld-linux)[^/]*$/.test(object)],
  ['Node and V8 in C++', () => true],
];
/**
 * What is done once in so many milliseconds, whatever is asked: under valgrind, where all is fifty
 * times slower, nearly each request has it. Left out of the totals, with all it calls.
 */
const BY_TIME = /bobtail_probe::(location::interrupted|v8::ticks::Ticks::refresh)$/;
/** Calls of libc that matter: the clock, and what enters the kernel. */
const CALLS = [
  'clock_gettime',
  'epoll_pwait',
  'read',
  'recvmsg',
  'write',
  'writev',
  '__tls_get_addr',
];

function plainName(name) {
  return name.replace(/@.*/, '').replace(/'\d+$/, '');
}

/** A function whose calls are counted however few instructions it has. */
export function isCounted(name) {
  return CALLS.includes(plainName(name));
}

/** Per request: instructions of the loop's thread in all and by group, of others, and calls. */
export function summary(functions, others, requests) {
  const groups = Object.fromEntries(GROUPS.map(([group]) => [group, 0]));
  const calls = Object.fromEntries(CALLS.map((name) => [name, 0]));
  let total = 0;
  let byTime = 0;
  for (const each of functions) {
    total += each.self;
    if (BY_TIME.test(each.name)) byTime += each.inclusive;
    groups[GROUPS.find(([, has]) => has(each))[0]] += each.self / requests;
    if (isCounted(each.name)) calls[plainName(each.name)] += each.calls / requests;
  }
  const count = (instructions) => instructions / requests;
  return {
    total: count(total - byTime),
    byTime: count(byTime),
    others: count(others),
    groups,
    calls,
  };
}

const median = (list) => quartiles(list).median;
const rounded = (value) => Math.round(value).toLocaleString('en-US');

function ratios(arms, name) {
  const base = median(arms.off.map(({ total }) => total));
  const mine = arms[name].map(({ total }) => total / base);
  const spread = [Math.min(...mine), Math.max(...mine)].map((ratio) => ratio.toFixed(3));
  return `${median(mine).toFixed(3)} [${spread.join('–')}]`;
}

const ARM_ORDER = ['off', 'off2', 'hooks', 'loop', 'full', 'boost'];

function cellTable({ node, service, arms }) {
  const names = ARM_ORDER.filter((name) => arms[name]);
  const of = (name, get) => median(arms[name].map(get));
  const row = (label, cell) => `| ${label} | ${names.map(cell).join(' | ')} |`;
  const lines = [`### Node ${node}, ${service}`, ''];
  lines.push(
    row('per request', (name) => name),
    `|${'---|'.repeat(names.length + 1)}`,
  );
  lines.push(row('instructions of the loop', (name) => rounded(of(name, ({ total }) => total))));
  if (arms.off) lines.push(row('ratio, median [least–most]', (name) => ratios(arms, name)));
  for (const [group] of GROUPS) {
    lines.push(row(group, (name) => rounded(of(name, ({ groups }) => groups[group]))));
  }
  lines.push(
    row('of these by time, not counted above', (name) => rounded(of(name, ({ byTime }) => byTime))),
  );
  lines.push(row('other threads', (name) => rounded(of(name, ({ others }) => others))));
  for (const call of CALLS) {
    lines.push(row(`calls of ${call}`, (name) => of(name, ({ calls }) => calls[call]).toFixed(2)));
  }
  return `${lines.join('\n')}\n`;
}

/** A table for each service on each Node; medians of the windows. */
export function instructionTables(cells) {
  return cells.map(cellTable).join('\n');
}
