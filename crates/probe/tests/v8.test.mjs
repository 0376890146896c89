// Compares what the probe tells of V8's own work with what V8 itself logs in the same run;
// collections are in `collections.test.mjs`.
//
// The variables are those of `observed.mjs`.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nodes, only, probe, run, temporary } from './observed.mjs';

const script = 'v8.cjs';

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

for (const node of nodes) {
  const version = execFileSync(node, ['-p', 'process.version'], { encoding: 'utf8' }).trim();
  describe(`V8's work in ${version}`, () => {
    it('counts the inline-cache misses that V8 logs', async (t) => {
      const out = temporary(t);
      const log = path.join(out, 'v8.log');
      const flags = ['--log-ic', `--logfile=${log}`, '--no-logfile-per-isolate'];
      flags.push('--no-lazy-feedback-allocation');
      const { calls } = await run(node, out, 'misses', { script, flags });
      const lines = fs.readFileSync(log, 'utf8').split('\n');
      const place = (name) => lines.findIndex((line) => line.includes(`,${name},`));
      const between = lines.slice(place('bobtailBegin'), place('bobtailEnd') + 1);
      const logged = between.filter((line) => /^\w+IC,/.test(line)).length;
      const counted = Object.entries(calls).filter(([name]) => /IC/.test(name));
      // V8 does not log that one.
      const own = counted.filter(([name]) => !/^CloneObject|^PatchLoad/.test(name));
      assert.ok(logged > 100, `${logged} logged`);
      assert.equal(sum(own.map(([, count]) => count)), logged, JSON.stringify(calls));
    });

    it('tells as many compilations as V8 logs', async (t) => {
      const out = temporary(t);
      const log = path.join(out, 'v8.log');
      const flags = ['--log-ic', '--log-function-events', `--logfile=${log}`];
      flags.push('--no-logfile-per-isolate', '--no-lazy-feedback-allocation');
      const told = await run(node, out, 'compiled', { script, flags });
      const lines = fs.readFileSync(log, 'utf8').split('\n');
      const place = (name) =>
        lines.findIndex((line) => /^StoreIC,/.test(line) && line.includes(name));
      const [begin, middle, end] = ['Begin', 'Lazy', 'End'].map((name) =>
        place(`,bobtail${name},`),
      );
      const count = (what, from, to) =>
        lines.slice(from, to).filter((line) => line.startsWith(`function,${what},`)).length;
      const { lazy, scripts, evals, functions } = told;
      // As many as are planted, and as V8 logs; a function made of text is an eval to V8's log.
      assert.deepEqual(told, { lazy: 51, scripts: 20, evals: 20, functions: 20 });
      assert.equal(lazy, count('parse-function', begin, middle));
      assert.equal(scripts, count('parse-script', middle, end));
      assert.equal(evals + functions, count('parse-eval', middle, end));
    });

    it('charges compilation to compilation', async (t) => {
      const out = temporary(t);
      const rounds = await run(node, out, 'compilation', { script });
      for (const what of Object.keys(rounds[0])) {
        const shares = rounds.map((round) => {
          const { inner, outer, jit, gc } = round[what];
          assert.ok(jit <= 1.001 * outer, `${what}: ${jit} of ${outer}`);
          return jit / (inner - gc);
        });
        // Another process may have run between the two looks at the clock: not each time.
        assert.ok(Math.max(...shares) > 0.8, `${what}: ${shares.join()}`);
      }
    });

    it('charges a function made of text to compilation, and each', async (t) => {
      const { rounds, calls } = await run(node, temporary(t), 'functions', { script });
      assert.deepEqual(calls, [500, 500, 500, 500]);
      for (const kind of rounds[0].keys()) {
        const shares = rounds.map((round) => {
          const { inner, outer, jit, gc } = round[kind];
          assert.ok(jit <= 1.001 * outer, `${jit} of ${outer}`);
          return jit / (inner - gc);
        });
        t.diagnostic(`kind ${kind}: ${shares.map((share) => share.toFixed(3)).join()}`);
        // Another process may have run between the two looks at the clock: not each time.
        assert.ok(Math.max(...shares) > 0.8, `kind ${kind}: ${shares.join()}`);
      }
    });

    it('leaves the code cache valid', async (t) => {
      const out = temporary(t);
      const { accepted, tags, files } = await run(node, out, 'cache', { script });
      assert.deepEqual(accepted, [true, true, true]);
      assert.equal(new Set(tags).size, 1, tags.join());
      // The flag that makes V8 tell its timers does not make it write a log.
      assert.deepEqual(
        files.filter((file) => !file.endsWith('.trace')),
        [],
      );
    });

    it('has nothing to tell of a loop of its own', async (t) => {
      const out = temporary(t);
      const { mechanisms, rounds } = await run(node, out, 'native', { script });
      const missing = mechanisms.filter(({ ok, name }) => !ok && /^(gc|v8\.)/.test(name));
      assert.deepEqual(missing, []);
      // Another process may have run while V8 held the thread for a moment: not each time.
      const shares = rounds.map(({ inner, gc, jit, ic }) => (gc + jit + ic) / inner);
      assert.ok(Math.min(...shares) < 0.01, shares.join());
      for (const { native, gc, jit, ic, inner, outer } of rounds) {
        const total = native + gc + jit + ic;
        assert.ok(total >= 0.999 * inner && total <= 1.001 * outer, `${inner} ${total} ${outer}`);
      }
    });

    it('leaves flags alone that are frozen', async (t) => {
      const flags = ['--freeze-flags-after-init'];
      const { mechanisms } = await run(node, temporary(t), 'native', { script, flags });
      const missing = mechanisms.filter(({ ok, name }) => !ok && name.startsWith('v8.'));
      // Node 20 needs no flag for V8's timers.
      const names = version.startsWith('v20.') ? [] : ['v8.gc-steps', 'v8.jit', 'v8.jit-text'];
      assert.deepEqual(missing.map(({ name }) => name).sort(), names);
      for (const { reason } of missing) assert.match(reason, /frozen/);
    });

    it('does not charge the getter that a miss runs to the miss', async (t) => {
      const out = temporary(t);
      const { spent, thrown, unbalanced } = await run(node, out, 'getters', { script });
      assert.equal(thrown, 50);
      assert.equal(unbalanced, 0);
      const share = spent.ic / spent.inner;
      assert.ok(share < 0.1, `${spent.ic / 1e6} of ${spent.inner / 1e6} ms`);
      t.diagnostic(`${spent.ic / 1e6} of ${spent.inner / 1e6} ms`);
    });

    it('survives workers that come and go under stress', async () => {
      const soak = fileURLToPath(new URL('../../../bench/soak/run.mjs', import.meta.url));
      const args = [soak, '--node', node, '--addon', probe, '--seconds', '2', '--sets', '3'];
      const { code, text } = await new Promise((resolve) => {
        execFile(process.execPath, args, (error, stdout, stderr) =>
          resolve({ code: error ? error.code : 0, text: stdout + stderr }),
        );
      });
      assert.equal(code, 0, text);
    });

    it('writes all of it into the trace', async (t) => {
      const out = temporary(t);
      const { work } = await run(node, out, 'totals', { script });
      const records = only(out).of('work');
      assert.ok(records.length > 5, `${records.length} records`);
      const total = (key) => sum(records.map((r) => Number(r[key])));
      for (const [key, inspectedNs] of [
        ['jit', work.jitNs],
        ['ic', work.icNs],
      ]) {
        const apart = `${key}: ${total(key)} in the trace, ${inspectedNs} counted`;
        assert.ok(Math.abs(total(key) - inspectedNs) <= 0.01 * inspectedNs + 1000, apart);
      }
      for (const record of records) {
        const spanNs = Number(record.span);
        assert.ok(Number(record.jit) + Number(record.ic) <= spanNs + 100, record.line);
      }
      const calls = sum(Object.values(work.calls));
      assert.ok(records.length < calls, `${records.length} records of ${calls} calls`);
    });
  });
}
