/** `bobtail doctor`: the answer is valid, and says no where it has to. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
