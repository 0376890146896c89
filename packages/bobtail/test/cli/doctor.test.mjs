/** `bobtail doctor`: the answer is valid, and says no where it has to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodes } from './nodes.mjs';
import { runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

test('this Node can be recorded', async () => {
  const result = await runBobtail(['doctor', '--json']);
  const diagnosis = JSON.parse(result.stdout);
  assertValid('doctor', diagnosis);
  const [node] = diagnosis.nodes;
  assert.deepEqual(
    { ok: node.ok, version: node.version, execPath: node.execPath, reason: node.reason },
    { ok: true, version: process.version, execPath: process.execPath, reason: null },
  );
  assert.ok(node.mechanisms.length > 0);
  assert.deepEqual(diagnosis.analysis, { ok: true, reason: null });
  assert.equal(result.code, 0);
  assert.equal(result.stderr, '');
});

test('the Node to try may have options', async () => {
  const node = [process.execPath, '--no-deprecation'];
  const result = await runBobtail(['doctor', '--json', '--', ...node]);
  assert.deepEqual(JSON.parse(result.stdout).nodes[0].command, node);
  assert.equal(result.code, 0);
});

test('what is not Node.js is told as such', async () => {
  const result = await runBobtail(['doctor', '--', 'true']);
  assert.equal(result.code, 69);
  assert.match(result.stdout, /recording +no +not Node\.js/);
});

test('a missing command is an error', async () => {
  const result = await runBobtail(['doctor', '--', 'no-such-node']);
  assert.equal(result.code, 127);
  assert.equal(result.stderr, 'bobtail: command not found (no-such-node)\n');
  assert.equal(result.stdout, '');
});

/** What the agent and the probe try, by the names that people see; in the order of their lists. */
const MECHANISMS = [
  'listening',
  'next ticks',
  'microtasks',
  'timer callbacks',
  'loop events',
  'thread pool',
  'runs of the timer list',
  'code locations',
  'garbage collections',
  'time not running',
  'ready times',
  'http requests',
  'http2 requests',
  'promises',
];

for (const { path, version } of nodes) {
  test(`every mechanism is told, and why one is missing (${version})`, async () => {
    const { stdout } = await runBobtail(['doctor', '--json', '--', path]);
    const { mechanisms } = JSON.parse(stdout).nodes[0];
    const names = mechanisms.map(({ name }) => name);
    for (const name of MECHANISMS) assert.ok(names.includes(name), `${name} in ${names.join()}`);
    assert.equal(new Set(names).size, names.length, 'each once');
    for (const { name, ok, reason } of mechanisms) {
      assert.ok(ok ? reason === undefined : reason.length > 0, `${name}: ${reason}`);
    }
    const text = await runBobtail(['doctor', '--', path]);
    for (const name of names) assert.ok(text.stdout.includes(`  ${name} `), name);
  });
}
