/** `boost` of a service that becomes another user, as most that are started by root do. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { BASE, makeTree, PEAK, startBoosted, until } from './boosted.mjs';
import { load } from './load.mjs';
import { fixture } from './recordings.mjs';
import { makeFolder, runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const NOBODY = 65534;
const CHURN = fixture('churn.mjs');
const SERVES_FOR_MS = 2_500;

test('a server that gives up its rights once it listens is boosted on', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root to give up');
  const tree = makeTree(makeFolder(t));
  const args = ['--actuator', 'cpufreq', '--lever-root', tree.root, '--policy', 'gc-boost:worth=0'];
  const script = ['--require', fixture('gives-up-rights.cjs'), CHURN, 'well'];
  const run = await startBoosted(t, { args, script });
  const [pid] = run.pids;
  const uid = () => /^Uid:\t\d+\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1];
  await until('it is somebody else', () => uid() === String(NOBODY));
  await load(run.port, { count: 40 });
  run.child.kill('SIGTERM');
  const { code, stderr } = await run.ended;
  assert.equal(code, 0, stderr);
  const { counters, requests, refused, lost } = run.summary();
  assert.deepEqual([refused, lost], [null, null]);
  assert.ok(counters.boosts >= 1 && counters.forCollection === counters.boosts, stderr);
  assert.equal(requests.count, 40);
  assert.ok(!/EACCES/.test(stderr), stderr);
  assert.equal(tree.khz(0), BASE);
});

test('a service of another user is not boosted, and that is told', async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root to be another user');
  const cwd = makeFolder(t);
  const tree = makeTree(makeFolder(t));
  const lever = ['--actuator', 'cpufreq', '--lever-root', tree.root, '--policy', 'static:peak'];
  const script = `require('node:http').createServer().listen(0, '127.0.0.1');
    setTimeout(() => process.exit(0), ${SERVES_FOR_MS});`;
  const user = ['setpriv', `--reuid=${NOBODY}`, '--clear-groups', '--', process.execPath];
  const args = ['boost', ...lever, '--out', 'boost.json', '--', ...user, '-e', script];
  const env = { TMPDIR: cwd, BOBTAIL_RUN_DIR: cwd };
  const { code, stderr } = await runBobtail(args, { cwd, env });
  assert.equal(code, 80, stderr);
  assert.match(stderr, /^ {2}not boosted: its process \d+ is of user 65534, who cannot take part/m);
  // When it is seen, and not only at the end.
  assert.match(stderr, /^bobtail: process \d+ is not boosted: its process \d+ is of user 65534/m);
  assert.match(stderr, /^bobtail: not boosting this process: EACCES: .* \(pid \d+\)$/m);
  const summary = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
  assertValid('boost', summary);
  assert.match(summary.refused, /start bobtail boost as that user$/);
  assert.notEqual(tree.khz(0), PEAK);
});
