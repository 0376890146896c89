// What a loop shows of itself while it is not recorded; for the variables see `observed.mjs`.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { nodes, run, temporary, traces } from './observed.mjs';

const script = 'senses.cjs';

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
  });
}
