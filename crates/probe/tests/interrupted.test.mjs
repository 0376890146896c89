// Holds what the probe says about time in which the loop thread could run but did not to what the
// kernel itself sums up for the same thread and time.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import path from 'node:path';
import { describe, it } from 'node:test';
import { nodes, only, read, run, temporary, traces } from './observed.mjs';

const HOG = 'for (;;);';
/** An interruption is told from just before a switch to just after one; shorter ones are not. */
const SWITCH_NS = 50_000;

/** The processors this process may use. */
function processors() {
  const [, list] = /list: (.*)/.exec(
    execFileSync('taskset', ['-pc', `${process.pid}`], { encoding: 'utf8' }),
  );
  return list;
}

/** Runs `use` while another process wants the processor `one` all the time. */
async function besideHog(one, use) {
  const hog = spawn('taskset', ['-c', one, process.execPath, '-e', HOG], { stdio: 'ignore' });
  try {
    return await use();
  } finally {
    hog.kill('SIGKILL');
  }
}

const within = (trace, { beginNs, endNs }) =>
  trace.of('not-running').filter((r) => Number(r.end) > beginNs && Number(r.end) <= endNs);
const sum = (records) => records.reduce((total, r) => total + Number(r.duration), 0);

/** By how much both sums of a slice may differ. */
const toleranceNs = ({ interrupted, readingNs }) => SWITCH_NS * (interrupted + 1) + readingNs;

/**
 * Compares both sums in each slice in which the thread never waited: the kernel's has the delays of
 * wake-ups in it, too. There must be `count` of them. Gives what was told.
 *
 * One slice in five may differ: what a host takes from a virtual machine in the middle of a switch
 * is told as a part of the interruption, and the kernel, which had read its clock before, sums up
 * none of it. A probe that missed or invented switches would differ in every slice.
 */
function compare(trace, slices, count) {
  const unbroken = slices.filter(({ waited }) => waited === 0);
  assert.equal(unbroken.length, count, JSON.stringify(slices));
  const told = unbroken.map((slice) => within(trace, slice));
  const different = unbroken
    .map((slice, n) => ({ ...slice, toldNs: sum(told[n]), times: told[n].length }))
    .filter((slice) => Math.abs(slice.toldNs - slice.delayNs) > toleranceNs(slice));
  assert.ok(different.length <= count / 5, JSON.stringify(different));
  return told.flat();
}

/**
 * Where the kernel refuses, that is told as `doctor` tells it, and the trace says nothing. The
 * tests of `switches.rs`, which ask the kernel themselves, hold that it is the kernel who refuses.
 */
function isUnavailable(out, refused) {
  if (refused === undefined) return false;
  assert.match(refused, /^(perf_event_open: .+: .+|Linux \S+ does not|the kernel.s ring cannot)/);
  for (const file of traces(out)) {
    const trace = read(path.join(out, file));
    assert.deepEqual([trace.of('not-running'), trace.of('loss')], [[], []], refused);
  }
  return true;
}

for (const node of nodes) {
  const version = execFileSync(node, ['-p', 'process.version'], { encoding: 'utf8' }).trim();
  describe(`interruptions in ${version}`, () => {
    it('sum up to what the kernel sums up', async (t) => {
      const out = temporary(t);
      const one = processors().split(/[,-]/)[0];
      const how = { script: 'interrupted.cjs', rest: ['10', '30'], prefix: ['taskset', '-c', one] };
      const measured = await besideHog(one, () => run(node, out, 'measure', how));
      if (isUnavailable(out, measured.refused)) return;
      const trace = only(out);
      const told = compare(trace, measured.slices, 10);
      // Two threads that never wait share a processor about evenly.
      assert.ok(sum(told) > 40e6, `${told.length} times, ${sum(told)} ns`);
      assert.ok(told.every((r) => r.cause === 'preempted'));
      for (const poll of trace.of('poll')) {
        const leave = poll.at + Number(poll.blocked);
        const inside = trace
          .of('not-running')
          .filter((r) => Number(r.end) > poll.at && Number(r.end) - Number(r.duration) < leave);
        assert.deepEqual(inside, [], poll.line);
      }
    });

    it('are told of each worker thread apart', async (t) => {
      const out = temporary(t);
      const one = processors().split(/[,-]/)[0];
      const how = { script: 'interrupted.cjs', rest: ['5', '30'], prefix: ['taskset', '-c', one] };
      const all = await run(node, out, 'workers', how);
      assert.equal(all.length, 2);
      if (isUnavailable(out, all[0].refused)) return;
      const names = execFileSync('ls', [out], { encoding: 'utf8' }).trim().split('\n');
      for (const measured of all) {
        const file = names.find((name) => name.endsWith(`-${measured.thread}.trace`));
        const told = compare(read(path.join(out, file)), measured.slices, 5);
        assert.ok(sum(told) > 20e6, `${sum(told)} ns of thread ${measured.thread}`);
      }
    });

    it('are not had from being asked for the location', async (t) => {
      const out = temporary(t);
      // A collection would wait for its helpers, on Node 26 with the first flag alone, too.
      const flags = ['--single-threaded', '--min-semi-space-size=64', '--max-semi-space-size=64'];
      const how = { script: 'interrupted.cjs', flags, rest: ['50', '20'] };
      const { slices, watchdogInterrupted } = await run(node, out, 'asked', how);
      assert.ok(only(out).of('location').length > 0);
      assert.equal(slices.length, 50);
      // V8 holds a mutex when it stops the thread, which needs it. Where the thread slept for it,
      // it did so about once in each of these on Node 20 and 22. It cannot but sleep where the
      // watchdog loses its processor with the mutex in hand: each such loss excuses one. What V8
      // waits for by itself it does many times in a few of them, when the function is hot anew.
      const waited = slices.filter((slice) => slice.waited > 0).length;
      const excused = slices.length / 3 + 3 + watchdogInterrupted;
      t.diagnostic(`waited in ${waited} slices, watchdog interrupted ${watchdogInterrupted} times`);
      assert.ok(waited <= excused, JSON.stringify({ excused, slices }));
    });

    it('are not what a thread waits for', async (t) => {
      const out = temporary(t);
      const measured = await run(node, out, 'blocked', { script: 'interrupted.cjs' });
      if (isUnavailable(out, measured.refused)) return;
      // It waits for up to 60 ms, of which none is among what the kernel sums up: that is when it
      // could go on and had no processor, as before it sleeps, with the deadline taken already.
      const toldNs = sum(within(only(out), measured));
      const mostNs = measured.delayNs + toleranceNs(measured);
      assert.ok(toldNs <= mostNs, `${toldNs} of ${mostNs} ns`);
    });
  });
}
