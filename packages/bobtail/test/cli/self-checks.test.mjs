/**
 * What the probe finds out about a V8 that it does not know: each self-check is made to fail, by a
 * copy of a real Node whose file says or does something else, and `doctor`, `record` and `report`
 * have to say which times are missing and why, and tell the others.
 */
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Executable } from '../../../../workloads/harness/executable.mjs';
import { edgeTriggered } from './edge-triggered.mjs';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { deniesPerfEvents, namedOtherwise } from './other-kernel.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';
import { makeFolder, runBobtail } from './run-bobtail.mjs';

const REQUESTS = 20;
const COMPILATION = ['compilation', 'functions made of text'];
const BY_LOG = ['steps of incremental marking', ...COMPILATION];
const TAG = '_ZN2v814ScriptCompiler20CachedDataVersionTagEv';
const FLAGS = '_ZN2v88internal8v8_flagsE';
const ADD_PROLOGUE =
  '_ZN2v87Isolate21AddGCPrologueCallbackEPFvPS0_NS_6GCTypeENS_15GCCallbackFlagsEPvES4_S2_';
const CHECK_IMMEDIATE = '_ZN4node11Environment14CheckImmediateEP10uv_check_s';
const STACK_TRACE = '_ZN2v810StackTrace17CurrentStackTraceEPNS_7IsolateEiNS0_17StackTraceOptionsE';
const SET_LOGGER = '_ZN2v87Isolate14SetEventLoggerEPFvPKciE';

/** The symbol of a C++ function of V8's that generated code calls. */
const called = (name) => `_ZN2v88internal${name.length}${name}EiPmPNS0_7IsolateE`;

/** The executable calls a function of libc by another name, one that begins with an x. */
const nameOtherwise = (node, name) =>
  node.write(node.find(name, '.dynsym').nameAt, Buffer.from('x'));

/** The kernel refuses events of perf with an error; how each is told is the same on all Nodes. */
const denied = (errno, reason, isFirst = false) => ({
  what: `the kernel refuses perf_event_open (${errno})`,
  isRecorded: isFirst,
  isOnce: !isFirst,
  recordFlags: ['--not-running'],
  env: (t) => ({ LD_PRELOAD: deniesPerfEvents(t, errno) }),
  lost: ['time not running'],
  reason,
});

/** Has the symbol table give functions the places of others, or of no function. */
function misplace(node, places) {
  const placeOf = (name, other) => node.find(called(other ?? name)).address + (other ? 0 : 1);
  const addresses = Object.entries(places).map(([name, other]) => [name, placeOf(name, other)]);
  return addresses.map(([name, address]) => node.place(called(name), address));
}

/** Code that gives the processor's counter: another tag each time. */
const COUNTER = [0x0f, 0x31, 0xc3];

/** Code that gives the sum of V8's flags: a tag that changes when one is written. */
function sumOf({ address, size }) {
  const code = Buffer.from('31c0b90000000003048d00000000e2f7c3', 'hex');
  code.writeUInt32LE(size / 4, 3);
  code.writeUInt32LE(address - 4, 10);
  return code;
}

/**
 * `change` changes the copy; `lost` is what must be missing then, for `reason`: from version
 * `since` on, for Node 20 needs no flag to have V8 tell its timers.
 */
const FAILURES = [
  {
    what: 'collections cannot be followed',
    isRecorded: true,
    change: (node) => [node.hide(ADD_PROLOGUE, '.dynsym')],
    lost: ['garbage collections'],
    reason: /^v8::Isolate::AddGC…Callback is not exported$/,
  },
  {
    what: 'the log cannot be followed',
    isRecorded: true,
    change: (node) => [node.hide(SET_LOGGER, '.dynsym')],
    lost: BY_LOG,
    reason: /^v8::Isolate::SetEventLogger is not exported$/,
  },
  {
    what: 'a miss is not where the symbol table says',
    isRecorded: true,
    change: (node) => misplace(node, { Runtime_LoadIC_Miss: undefined }),
    lost: ['inline-cache misses'],
    reason: /^V8's reference table has Runtime_LoadIC_Miss 0 times \((\d+) of (\d+) found\)$/,
  },
  {
    what: 'a function that compiles is not where the symbol table says',
    change: (node) => misplace(node, { Runtime_CompileLazy: undefined }),
    lost: COMPILATION,
    reason: /^V8's reference table has Runtime_CompileLazy 0 times \((\d+) of (\d+) found\)$/,
  },
  {
    what: 'a builtin is not where the symbol table says',
    isRecorded: true,
    change: (node) => misplace(node, { Builtin_FunctionConstructor: undefined }),
    lost: ['functions made of text'],
    reason: /^V8's reference table has Builtin_FunctionConstructor 0 times \((3) of (4) found\)$/,
  },
  {
    what: 'other functions are where the symbol table says misses are',
    change: (node) =>
      misplace(node, {
        Runtime_LoadIC_Miss: 'Runtime_ThrowSymbolIteratorInvalid',
        Runtime_DefineNamedOwnIC_Miss: 'Runtime_ThrowThrowMethodMissing',
      }),
    lost: ['inline-cache misses'],
    reason: /^V8 did not call what it was given for an inline-cache miss$/,
  },
  {
    what: 'another builtin is where the symbol table says',
    change: (node) => misplace(node, { Builtin_FunctionConstructor: 'Builtin_DateConstructor' }),
    lost: ['functions made of text'],
    reason: /^V8 did not call what it was given for a function made of text$/,
  },
  {
    what: 'the flags have no symbol',
    change: (node) => [node.hide(FLAGS, '.symtab')],
    lost: BY_LOG,
    since: 22,
    reason: /^V8's flags were not found$/,
  },
  {
    what: 'the flags are frozen',
    flags: ['--freeze-flags-after-init'],
    lost: BY_LOG,
    since: 22,
    reason: /^V8's flags are frozen \(--freeze-flags-after-init\)$/,
  },
  {
    what: 'the tag of code caches does not stay',
    change: (node) => [node.replaceCode(TAG, COUNTER)],
    lost: BY_LOG,
    since: 22,
    reason: /^the tag of V8's code cache does not go back to what it was$/,
  },
  {
    what: 'the tag of code caches has the timer flag in it, whenever it is asked for',
    isRecorded: true,
    change: (node) => [node.replaceCode(TAG, sumOf(node.find(FLAGS)))],
    lost: BY_LOG,
    since: 22,
    reason: /^the timer flag changes the tag of V8's code cache$/,
  },
  {
    what: 'the loop is told of descriptors by edges',
    isRecorded: true,
    env: (t) => ({ LD_PRELOAD: edgeTriggered(t) }),
    lost: ['ready times'],
    reason: /^libuv's epoll set is edge-triggered$/,
  },
  {
    what: 'a function of libc is called by another name',
    isRecorded: true,
    change: (node) => [nameOtherwise(node, 'getsockopt')],
    env: (t) => ({ LD_PRELOAD: namedOtherwise(t) }),
    lost: ['loop events'],
    reason: /^the executable does not call libc's getsockopt through its offset table$/,
  },
  {
    what: 'immediates are run by another function',
    isRecorded: true,
    change: (node) => [node.place(CHECK_IMMEDIATE, node.find(CHECK_IMMEDIATE).address + 1)],
    lost: ['runs of the timer list'],
    reason: /^the check handle is not that of the immediates$/,
  },
  {
    what: 'timers are kept in another way',
    isRecorded: true,
    flags: ['--require', fixture('own-timers.cjs')],
    lost: ['timers made inside Node', 'timer due times'],
    reason: /^timers (?:are not kept in lists of a known kind|do not tell when they start)$/,
  },
  {
    what: 'V8 does not tell its stack',
    isRecorded: true,
    change: (node) => [node.hide(STACK_TRACE, '.dynsym')],
    lost: ['code locations'],
    reason: /^V8 does not export its stack trace$/,
  },
  denied('EPERM', /^perf_event_open: .*: a container's seccomp profile or perf_ev.*$/, true),
  denied('EACCES', /^perf_event_open: .*: perf_event_paranoid is above 2$/),
  denied('ENOSYS', /^perf_event_open: .*: the kernel was built without it, or a sandbox .*$/),
];

/** The mechanisms that `doctor` says are missing of a Node, with the reasons. */
async function missingOf(command, env) {
  const trees = ['--lever-root', '/nonexistent'];
  const { stdout } = await runBobtail(['doctor', '--json', ...trees, '--', ...command], { env });
  const [{ ok, reason, mechanisms }] = JSON.parse(stdout).nodes;
  assert.ok(ok, reason);
  return mechanisms.filter((one) => !one.ok);
}

/** Of the slots that were found and wanted, one is missing. */
function assertReason(reason, expected) {
  assert.match(reason, expected);
  const [, found, wanted] = expected.exec(reason);
  if (wanted !== undefined) assert.equal(Number(found), Number(wanted) - 1, reason);
}

/** Records a service on it; every class that is not lost has its time, and the others have none. */
async function assertRecorded(t, { command, env, lost, reason, recordFlags: flags }) {
  const service = [...command, fixture('service.mjs'), 'http'];
  const recording = await startRecording(t, service, { env, flags });
  assert.equal(await load(recording.port, { count: REQUESTS }), REQUESTS);
  const { signal, stdout, stderr } = await recording.end('SIGTERM');
  assert.equal(signal, 'SIGTERM', stderr);
  const { requests, losses, unavailable, breakdown } = await reportOf(recording.folder);
  assert.equal(requests.count, REQUESTS);
  assert.deepEqual(losses, {});
  const told = new Map(unavailable.map((one) => [one.mechanism, one.reason]));
  for (const name of lost) {
    assertReason(told.get(name), reason);
    assert.ok((stdout + stderr).includes(name), stdout + stderr);
  }
  const { gcNs, jitNs, icNs, nativeNs, notRunningNs } = breakdown[0].work;
  assert.equal(gcNs === null, lost.includes('garbage collections'), 'gc');
  assert.equal(jitNs === null, lost.includes('compilation'), 'jit');
  assert.equal(icNs === null, lost.includes('inline-cache misses'), 'ic');
  // Only where it was asked for, which only that case does.
  assert.equal(notRunningNs, null, 'not running');
  assert.ok(nativeNs > 0);
}

/** A Node whose loop waits by a function that is none of libc's: the last change of the copy. */
async function assertRefused(t, copy) {
  const node = new Executable(copy, { isWritable: true });
  nameOtherwise(node, 'epoll_pwait');
  node.close();
  const env = { LD_PRELOAD: namedOtherwise(t) };
  const reason = "the executable does not call libc's epoll_pwait through its offset table";
  const { stdout } = await runBobtail(['doctor', '--json', '--', copy], { env });
  const [diagnosed] = JSON.parse(stdout).nodes;
  assert.deepEqual([diagnosed.ok, diagnosed.reason], [false, reason]);
  const recording = await startRecording(t, [copy, fixture('service.mjs'), 'http'], { env });
  assert.equal(await load(recording.port, { count: REQUESTS }), REQUESTS);
  const { signal, stderr } = await recording.end('SIGTERM');
  assert.equal(signal, 'SIGTERM');
  for (const told of ['not recording this process', 'nothing recorded']) {
    assert.ok(stderr.includes(`bobtail: ${told}: ${reason}`), stderr);
  }
}

for (const { path, version } of nodes) {
  const major = Number(/^v(\d+)/.exec(version)[1]);
  test(`${version}: what a failed self-check takes is missing, and no more`, async (t) => {
    const copy = join(makeFolder(t), 'node');
    copyFileSync(path, copy);
    const named = new Set((await missingOf([copy])).map(({ name }) => name));
    const isLast = path === nodes.at(-1).path;
    for (const failure of FAILURES.filter(({ isOnce }) => !isOnce || isLast)) {
      const { what, change, flags = [], since = 0, isRecorded = false } = failure;
      const { recordFlags, reason } = failure;
      await t.test(what, async (t) => {
        const changed = (work) => {
          const node = new Executable(copy, { isWritable: true });
          const result = work(node);
          node.close();
          return result;
        };
        const changes = change === undefined ? [] : changed(change);
        try {
          const [command, env] = [[copy, ...flags], failure.env?.(t) ?? {}];
          const lost = major >= since ? failure.lost : [];
          // What this host lacks anyway is only looked at where it is what the case is about.
          const missing = (await missingOf(command, env)).filter(
            ({ name }) => !named.has(name) || lost.includes(name),
          );
          assert.deepEqual(missing.map(({ name }) => name).sort(), lost.toSorted());
          for (const one of missing) assertReason(one.reason, reason);
          if (isRecorded) await assertRecorded(t, { command, env, lost, reason, recordFlags });
        } finally {
          changed((node) => changes.map(({ at, before }) => node.write(at, before)));
        }
      });
    }
    await t.test('without the poll nothing is recorded, and the service is unharmed', (t) =>
      assertRefused(t, copy),
    );
  });
}
