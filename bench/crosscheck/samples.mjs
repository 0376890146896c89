// Samples of a thread's stack, and what each says the thread was doing.
//
// Symbols of the node executable tell it, not anything Bobtail measured: the function nearest to
// the leaf that belongs to a collection, to a compilation or to an inline-cache miss decides;
// JavaScript entered again from within (a getter run by a miss) is the program's own.
import { spawnSync } from 'node:child_process';

/** CPU time of the thread between two samples. */
export const PERIOD_NS = 500_000;

/** A name of V8's that begins with one of these. */
const ofV8 = (names) =>
  new RegExp(`^v8::internal::(${names.map(({ source }) => source).join('|')})`);

/** Entries of V8 into each kind of work, by C++ name as perf prints it. */
const CLASSES = [
  ['native', /^v8::internal::\(anonymous namespace\)::Invoke\b|^Builtins_JS(Construct)?Entry/],
  [
    'gc',
    ofV8([
      /Heap::CollectGarbage/,
      /Heap::PerformGarbageCollection/,
      /Heap::Scavenge/,
      /Heap::MarkCompact/,
      /Heap::AllocateRawWithLightRetry/,
      /IncrementalMarking/,
      /MarkCompactCollector/,
      /MinorMarkSweepCollector/,
      /ScavengerCollector/,
      /Scavenger/,
      /GlobalHandles::.*(GC|Weak)/,
    ]),
  ],
  ['sweep', /^v8::internal::(\w*Sweeper|Sweeper::\w+)::/],
  ['ic', /^v8::internal::Runtime_\w*IC(NoFeedback)?_(Miss|Slow)\w*/],
  [
    'jit',
    ofV8([
      /Compiler::/,
      /parsing::/,
      /baseline::/,
      /BaselineBatchCompiler/,
      /TieringManager::/,
      /OptimizingCompile/,
      /OptimizingCompileDispatcher/,
      /maglev::/,
      /compiler::/,
      /interpreter::/,
      /(\w*Unoptimized|\w*Optimized|Turbofan|Maglev)Compilation/,
      /Runtime_Compile/,
      /Runtime_InstallBaseline/,
      /Runtime_InstallSFI/,
      /Runtime_InstallBytecode/,
      /Runtime_BytecodeBudgetInterrupt/,
      /Runtime_StackGuard/,
      /Runtime_Notify/,
      /Runtime_OptimizeTurbofan/,
      /Runtime_OptimizeMaglev/,
      /Runtime_StartTurbofan/,
      /Runtime_StartMaglev/,
      /Runtime_HealOptimized/,
      /Runtime_MarkLazyDeopt/,
    ]),
  ],
];

/** The loop asking the kernel for events, with no callback on the stack. */
const POLL = /^(do_epoll_\w+|ep_\w+|epoll_\w*wait|uv__io_poll|__x64_sys_epoll\w*)/;
const CALLBACK = /^(v8::|Builtins_|node::|llhttp)/;

function isLoop(symbols) {
  return symbols.some((name) => POLL.test(name)) && !symbols.some((name) => CALLBACK.test(name));
}

function classOf(symbol) {
  return CLASSES.find(([, pattern]) => pattern.test(symbol))?.[0];
}

/** The probe's own code: by its leaf, since V8 runs below its wrappers. */
const PROBE = /^(<?bobtail_probe::|__tls_get_addr)/;

function workOf(symbols) {
  if (PROBE.test(symbols[0])) return { work: 'probe', deciding: symbols[0] };
  const deciding = symbols.find((symbol) => classOf(symbol) !== undefined);
  if (deciding) return { work: classOf(deciding), deciding };
  const otherwise = isLoop(symbols) ? 'loop' : 'native';
  return { work: otherwise, deciding: symbols[0] ?? '?' };
}

/** The records of `perf script`: a head line each, with the frames of a stack from the leaf. */
function records(text) {
  const list = [];
  for (const line of text.split('\n')) {
    const head = /^\s*\d+ +(\d+)\.(\d{9}): +(\S.*?) *$/.exec(line);
    if (head) {
      const [, seconds, fraction, what] = head;
      list.push({ atNs: Number(seconds) * 1e9 + Number(fraction), what, symbols: [] });
      continue;
    }
    const frame = /^\s+[0-9a-f]+ (.*)$/.exec(line);
    if (frame) list.at(-1).symbols.push(frame[1]);
  }
  return list;
}

/**
 * What the thread did by the samples of `file`: `{fromNs, untilNs, work, deciding, slept}`, in
 * order of time. A sample stands for the CPU time until the next; a sleep lasts as long as it
 * lasted. Time in which the thread was preempted is no work of its own and is left out.
 */
export function readSamples(file) {
  const fields = ['-F', 'event,tid,time,ip,sym', '--show-switch-events'];
  const { stdout, status, stderr } = spawnSync(
    'perf',
    ['script', '--ns', '--no-inline', ...fields, '-i', file],
    {
      encoding: 'utf8',
      maxBuffer: 2 ** 30,
    },
  );
  if (status !== 0) throw new Error(`perf script ended with ${status}: ${stderr.slice(0, 300)}`);
  const samples = [];
  let symbolsAtSwitch = [];
  let asleepSinceNs;
  for (const { atNs, what, symbols } of records(stdout)) {
    if (what.startsWith('task-clock')) {
      samples.push({ fromNs: atNs, untilNs: atNs + PERIOD_NS, slept: false, ...workOf(symbols) });
    } else if (what.startsWith('context-switches')) symbolsAtSwitch = symbols;
    else if (what === 'PERF_RECORD_SWITCH OUT') asleepSinceNs = atNs;
    else if (what.startsWith('PERF_RECORD_SWITCH IN') && asleepSinceNs !== undefined) {
      const slept = {
        fromNs: asleepSinceNs,
        untilNs: atNs,
        slept: true,
        ...workOf(symbolsAtSwitch),
      };
      // The stack ends within libc: who waits on a condition is not to be seen.
      const isHidden =
        slept.work === 'native' && !symbolsAtSwitch.some((name) => CALLBACK.test(name));
      samples.push(isHidden ? { ...slept, work: 'hidden' } : slept);
      asleepSinceNs = undefined;
    }
  }
  return samples.sort((a, b) => a.fromNs - b.fromNs);
}
