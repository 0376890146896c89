// What a loop shows of itself while it is not recorded; for the variables see `observed.mjs`.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { leaveOut } from '../../../workloads/harness/leave-out.mjs';
import { nodes, run, temporary, traces } from './observed.mjs';
import { keepStamps } from './stamps.mjs';

const script = 'senses.cjs';
const mayBeRealTime = process.getuid() === 0;

keepStamps();

for (const node of nodes) {
  const version = execFileSync(node, ['-p', 'process.version'], { encoding: 'utf8' }).trim();
  describe(`the senses in ${version}`, () => {
    it('tell how many events wait behind the one that runs, and since when it does', async (t) => {
      const { mechanisms, seen } = await run(node, temporary(t), 'queue', { script });
      assert.deepEqual(
        mechanisms.map(({ name, ok }) => [name, ok]),
        [
          ['loop-events', true],
          ['gc', true],
        ],
      );
      // One batch: each event has fewer behind it (libuv's own wake-up may be among them), and
      // began when the one before had ended.
      const lengths = seen.map(({ queueLength }) => queueLength);
      assert.ok(lengths[0] >= seen.length - 1, lengths.join());
      assert.ok(lengths.at(-1) <= 1, lengths.join());
      for (const [n, one] of seen.entries()) {
        if (n === 0) continue;
        const before = seen[n - 1];
        assert.ok(one.queueLength < before.queueLength, lengths.join());
        // Each runs for 2 ms, after it was asked.
        assert.ok(one.nowNs - one.headNs >= before.nowNs + 1e6, `event ${n}`);
        assert.ok(one.events > before.events, `event ${n}`);
        assert.ok(one.eventsNs - before.eventsNs >= 1e6, `event ${n}`);
      }
    });

    it('tell how long requests take, from when the kernel had them', async (t) => {
      const told = await run(node, temporary(t), 'latencies', { script });
      const { mechanisms, late, lateNs, both, allNs } = told;
      assert.deepEqual(mechanisms.at(-1), { name: 'latencies', ok: true });
      assert.deepEqual([late.mark, late.count, both.count], ['bobtlat1', 8, 16]);
      // All waited for the rest of 20 ms that began before they were written, and each for those
      // before it; a millisecond for the grain of the clock that was spun by.
      const leastNs = 8 * 18e6 + (8 * 9 * 1e6) / 2;
      assert.ok(late.sumNs >= leastNs, `${late.sumNs} of at least ${leastNs}`);
      assert.ok(late.longestNs <= lateNs + 1e6, `${late.longestNs} within ${lateNs}`);
      // Each of the others ran for 2 ms.
      assert.ok(allNs >= 8 * 1e6, `${allNs}`);
    });

    it('tell collections', async (t) => {
      const flags = ['--expose-gc', '--single-threaded-gc'];
      const told = await run(node, temporary(t), 'collections', { script, flags });
      const { five, ...rest } = told;
      assert.deepEqual(rest, { idle: 0, collecting: 0, ended: true, after: null });
      assert.equal(five, 5);
    });

    it('are not had twice, nor beside a recording', async (t) => {
      const out = temporary(t);
      const { senses, ...told } = await run(node, out, 'refusals', { script });
      assert.deepEqual(told, {
        none: null,
        unsensed: false,
        again: 'BOBTAIL_STATE',
        recorded: 'BOBTAIL_STATE',
        stopped: true,
        sensed: 'BOBTAIL_STATE',
        child: '42',
      });
      assert.ok(senses.nowNs > 0);
      assert.deepEqual(traces(out), ['own.trace']);
    });

    it('end with the worker that has them', async (t) => {
      const { own, main } = await run(node, temporary(t), 'workers', { script });
      for (const senses of own) assert.ok(senses.headNs > 0);
      assert.ok(main.polls > 0);
    });

    it('drive a lever through collections', async (t) => {
      if (!mayBeRealTime) return leaveOut(t, 'needs root for real-time threads');
      const flags = ['--expose-gc', '--single-threaded-gc'];
      const how = { script, flags };
      const told = await run(node, temporary(t), 'collectionsBoosted', how);
      const { driver, before, after, later, last, again } = told;
      assert.deepEqual(
        [driver.lever, driver.isEmulated, driver.policy],
        ['emulated', true, 'gc-boost:hold=1ms,worth=0'],
      );
      assert.match(driver.about, /EMULATED/);
      const boosts = after.boosts - before.boosts;
      // A machine that is too busy to run the driver within 10 ms misses one.
      assert.ok(boosts >= 1 && boosts <= 20, `${boosts}`);
      assert.equal(after.forCollection - before.forCollection, boosts);
      assert.equal(after.forHead, 0);
      // Each at least as long as it is held, and none is left raised.
      assert.ok(later.boostedNs - before.boostedNs >= boosts * 1e6, JSON.stringify(later));
      assert.ok(last.boostedNs === later.boostedNs || last.boosts > later.boosts);
      assert.equal(later.refused, 0);
      assert.equal(again, 'BOBTAIL_POLICY');
    });

    it('drive a lever while an event runs long', async (t) => {
      if (!mayBeRealTime) return leaveOut(t, 'needs root for real-time threads');
      const { before, after } = await run(node, temporary(t), 'longEvent', { script });
      assert.ok(after.forHead > before.forHead, JSON.stringify({ before, after }));
      assert.ok(after.boostedNs - before.boostedNs >= 1e6, JSON.stringify({ before, after }));
    });

    it('drive a lever while a turn is longer than others were', async (t) => {
      if (!mayBeRealTime) return leaveOut(t, 'needs root for real-time threads');
      const { before, after } = await run(node, temporary(t), 'longTurn', { script });
      assert.ok(after.boostedNs > before.boostedNs, JSON.stringify({ before, after }));
      assert.ok(after.forLongTurn > 0, JSON.stringify({ before, after }));
    });

    it('do not drive what there is not', async (t) => {
      assert.deepEqual(await run(node, temporary(t), 'notDriven', { script }), {
        policy: 'BOBTAIL_POLICY',
        setting: 'BOBTAIL_POLICY',
        lever: 'BOBTAIL_LEVER_UNKNOWN',
        range: 'BOBTAIL_LEVER_RANGE',
      });
    });
  });
}
