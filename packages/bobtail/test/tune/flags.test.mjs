/** Which flags are tried, where they go, whether they arrived; and the budget of a container. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readBudget } from '../../dist/tune/budget.js';
import { combinedChanges, singleChanges } from '../../dist/tune/candidates.js';
import { flagArm, withFlags } from '../../dist/tune/flag-arm.js';
import { checkFlags, flagName, readNodeFlags } from '../../dist/tune/node-flags.js';
import { nodes } from '../cli/nodes.mjs';
import { makeFolder } from '../cli/run-bobtail.mjs';

const MIB = 2 ** 20;
const V8 = [
  'max-semi-space-size',
  'min-semi-space-size',
  'max-old-space-size',
  'initial-old-space-size',
  'single-threaded-gc',
  'optimize-for-size',
  'allocation-site-pretenuring',
];
const FLAGS = {
  v8: new Set(V8),
  inNodeOptions: new Set(['max-semi-space-size', 'max-old-space-size', 'v8-pool-size', 'require']),
};
const HERE = {
  budgetBytes: 512 * MIB,
  usedBytes: 100 * MIB,
  flags: FLAGS,
  direct: true,
  cpus: 2,
};
const namesOf = (arms) => arms.map(({ name }) => name);

test('single changes stay within the budget and what the Node has', () => {
  assert.deepEqual(namesOf(singleChanges(HERE)), [
    '--max-semi-space-size=1',
    '--max-semi-space-size=4',
    '--max-semi-space-size=16',
    '--max-semi-space-size=64',
    '--max-semi-space-size=1 --no-allocation-site-pretenuring',
    '--no-allocation-site-pretenuring',
    '--min-semi-space-size=16 --max-semi-space-size=16',
    '--max-old-space-size=100',
    '--max-old-space-size=384',
    '--initial-old-space-size=384',
    '--single-threaded-gc',
    '--v8-pool-size=1',
    '--optimize-for-size',
  ]);
  const small = singleChanges({ ...HERE, budgetBytes: 64 * MIB, cpus: 8, direct: false });
  assert.deepEqual(namesOf(small), [
    '--max-semi-space-size=1',
    '--max-semi-space-size=4',
    '--max-old-space-size=48',
  ]);
  const container = singleChanges({ ...HERE, cpus: 1, direct: false });
  assert.equal(namesOf(container).at(-1), '--v8-pool-size=1', 'it may stand in NODE_OPTIONS');
});

test('combinations are what lies around the best, and it with others', () => {
  const found = [
    { arm: flagArm(['--single-threaded-gc']), ratio: 0.9 },
    { arm: flagArm(['--max-semi-space-size=64']), ratio: 0.7 },
    { arm: flagArm(['--no-allocation-site-pretenuring']), ratio: 0.85 },
    { arm: flagArm(['--max-semi-space-size=16']), ratio: 0.8 },
  ];
  assert.deepEqual(namesOf(combinedChanges(found, HERE)), [
    '--max-semi-space-size=64',
    '--max-semi-space-size=32',
    '--max-semi-space-size=64 --no-allocation-site-pretenuring',
    '--max-semi-space-size=64 --single-threaded-gc',
  ]);
  const fixed = [{ arm: flagArm(['--min-semi-space-size=16', '--max-semi-space-size=16']) }];
  assert.deepEqual(namesOf(combinedChanges(fixed, HERE)).slice(1), [
    '--min-semi-space-size=8 --max-semi-space-size=8',
    '--min-semi-space-size=32 --max-semi-space-size=32',
  ]);
  const small = '--max-semi-space-size=1';
  const young = '--no-allocation-site-pretenuring';
  const raced = [[young], [small], [small, young]].map(flagArm);
  const ranked = raced.map((arm, place) => ({ arm, ratio: 0.7 + place / 10 }));
  assert.deepEqual(namesOf(combinedChanges(ranked, HERE)), [young], 'the pair was raced before');
  assert.deepEqual(combinedChanges([], HERE), []);
});

test('flags go where they win over those of the user', () => {
  const flags = ['--max-semi-space-size=8'];
  const started = (command, env = {}) => withFlags({ command, env }, flags);
  const behind = (...command) => started(command).command;
  assert.deepEqual(behind('node', 'a.js', '--x'), ['node', ...flags, 'a.js', '--x']);
  assert.deepEqual(behind('/x/node', '-r', './b', '--max_semi_space_size', '4', 'a.js'), [
    '/x/node',
    '-r',
    './b',
    '--max_semi_space_size',
    '4',
    ...flags,
    'a.js',
  ]);
  const npm = started(['npm', 'start'], { NODE_OPTIONS: '--enable-source-maps ' });
  assert.deepEqual(npm.command, ['npm', 'start']);
  assert.equal(npm.env.NODE_OPTIONS, '--enable-source-maps --max-semi-space-size=8');
});

test('flags that did not arrive are told', () => {
  const arm = flagArm(['--max-semi-space-size=8']);
  const having = (...flags) => [{ heap: { flags } }];
  const own = having('--max-semi-space-size=4', '--max-semi-space-size=8');
  assert.equal(arm.missing(own), undefined, 'the last one wins');
  assert.equal(arm.missing(having('--max-semi-space-size=8')), undefined);
  assert.equal(
    arm.missing(having('--max-semi-space-size=8', '--max-semi-space-size=4')),
    '--max-semi-space-size=8 did not reach the service; it has --max-semi-space-size=4',
  );
  assert.equal(arm.missing([{}]), '--max-semi-space-size=8 did not reach the service');
  const pool = flagArm(['--v8-pool-size=1']);
  assert.equal(pool.missing(having('--v8-pool-size=1')), undefined);
  assert.equal(pool.missing([{}]), '--v8-pool-size=1 did not reach the service');
  assert.equal(flagArm(['--stack-size=900']).missing([{}]), undefined, 'nobody tells of those');
});

for (const { path, version } of nodes) {
  test(`every flag that is tried exists (${version})`, async () => {
    const flags = await readNodeFlags(path);
    for (const name of V8) assert.ok(flags.v8.has(name), name);
    for (const name of ['max-semi-space-size', 'max-old-space-size', 'v8-pool-size']) {
      assert.ok(flags.inNodeOptions.has(name), name);
    }
    assert.equal(singleChanges({ ...HERE, flags }).length, 13);
    const direct = { version, direct: true };
    checkFlags(['--no-opt', '--max_semi_space_size=3'], flags, direct);
    assert.throws(() => checkFlags(['--semi-size=3'], flags, direct), {
      message: `Node.js ${version} has no such flag (--semi-size=3)`,
    });
    assert.throws(() => checkFlags(['--single-threaded-gc'], flags, { version, direct: false }), {
      code: 'BOBTAIL_USAGE',
      message: /cannot stand in NODE_OPTIONS/,
    });
  });
}

test('names of flags', () => {
  const names = ['--max_semi_space_size=8', '--no-opt', '--noopt'];
  assert.deepEqual(names.map(flagName), ['max-semi-space-size', 'opt', 'opt']);
});

test('the budget is the lowest limit along the groups of either version', (t) => {
  const root = makeFolder(t);
  const groups = join(root, 'groups');
  const put = (path, text) => {
    mkdirSync(join(root, path, '..'), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const budget = (lines) => {
    writeFileSync(groups, lines);
    return readBudget(root, groups, 8 * 2 ** 30);
  };
  put('a/memory.max', `${512 * MIB}\n`);
  put('a/b/memory.max', 'max\n');
  assert.deepEqual(budget('0::/a/b\n'), { bytes: 512 * MIB, source: 'cgroup-v2' });
  put('memory/memory.limit_in_bytes', '9223372036854771712\n');
  put('memory/x/memory.limit_in_bytes', `${256 * MIB}\n`);
  const both = '4:cpu,memory:/x/not-there\n0::/a\n';
  assert.deepEqual(budget(both), { bytes: 256 * MIB, source: 'cgroup-v1' });
  const none = budget('4:memory:/\n');
  assert.deepEqual(none, { bytes: 8 * 2 ** 30, source: 'host' }, 'no limit is a huge number');
  assert.deepEqual(budget('4:cpu:/x\n'), { bytes: 8 * 2 ** 30, source: 'host' });
  assert.equal(readBudget(root, join(root, 'none'), 5).source, 'host');
});
