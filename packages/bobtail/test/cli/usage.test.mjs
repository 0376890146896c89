/** Wrong command lines: one line on stderr, nothing on stdout, a code of their own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder, PACKAGE, runBobtail } from './run-bobtail.mjs';

const CASES = [
  [['recrod'], 64, "bobtail: unknown command 'recrod' (Did you mean record?)"],
  [['record'], 64, "bobtail: missing required argument 'command' (see bobtail --help)"],
  [['record', '--bogus', '--', 'x'], 64, "bobtail: unknown option '--bogus' (see bobtail --help)"],
  [
    ['record', '--warmup', 'soon', '--', 'x'],
    64,
    'bobtail: --warmup takes seconds, such as 30 or 0.5 (soon)',
  ],
  [['record', '--max-total', '2m', '--', 'x'], 64, 'bobtail: --max-total must be at least 3m (2m)'],
  [['record', '--max-size', '3k', '--', 'x'], 64, 'bobtail: --max-size must be at least 3m (3k)'],
  [
    ['record', '--warmup', '3', '--duration', '2', '--', 'x'],
    64,
    'bobtail: --duration must be longer than --warmup (2)',
  ],
  [['record', '--every', '60s', '--', 'x'], 64, 'bobtail: --every and --for go together'],
  [
    ['record', '--every', '2s', '--for', '2', '--', 'x'],
    64,
    'bobtail: --every must be longer than --for (2s)',
  ],
  [
    ['record', '--every', '2s', '--for', '5ms', '--', 'x'],
    64,
    'bobtail: --for must be at least 10ms (5ms)',
  ],
  [['whatif', '.', '--latency', '1ms'], 64, 'bobtail: --latency goes with --policy (1ms)'],
  [['whatif', '.', '--domain', 'own'], 64, 'bobtail: --domain goes with --policy (own)'],
  [['whatif', '.', '--budget', '2'], 64, 'bobtail: --budget goes with --policy (2)'],
  [['whatif', '.', '--look', '9us'], 64, 'bobtail: --look goes with --policy (9us)'],
  [
    ['whatif', '.', '--policy', 'gci', '--look', '9us'],
    64,
    'bobtail: --look goes with --policy that moves a lever (9us)',
  ],
  [['whatif', '.', '--latencies'], 64, 'bobtail: --latencies goes with --json'],
  [['record', '--', 'no-such-command'], 127, 'bobtail: command not found (no-such-command)'],
  [['record', '--', './plain'], 126, 'bobtail: cannot run: permission denied (./plain)'],
  [
    ['record', '--out', '/dev/null/x', '--', 'true'],
    73,
    'bobtail: cannot write: not a folder (/dev/null)',
  ],
];

for (const [args, code, line] of CASES) {
  test(`bobtail ${args.join(' ')}`, async (t) => {
    const cwd = makeFolder(t);
    writeFileSync(join(cwd, 'plain'), '');
    const result = await runBobtail(args, { cwd });
    assert.deepEqual(result, { code, signal: null, stdout: '', stderr: `${line}\n` });
  });
}

test('without a verb the help is shown', async () => {
  const result = await runBobtail([]);
  assert.equal(result.code, 64);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, /Usage: bobtail/);
});

test('--help is an answer', async () => {
  const result = await runBobtail(['record', '--help']);
  assert.equal(result.code, 0);
  assert.match(result.stdout, /--on-port/);
  assert.equal(result.stderr, '');
});

test('the command that npm links is there before anything is built, and says so', (t) => {
  const { bin, version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));
  const { status } = spawnSync('git', ['ls-files', '--error-unmatch', bin.bobtail], {
    cwd: PACKAGE,
  });
  assert.equal(status, 0, 'npm makes no command of a file that is not there when it installs');
  const folder = makeFolder(t);
  const link = join(folder, 'bobtail');
  symlinkSync(join(PACKAGE, bin.bobtail), link);
  const built = spawnSync(link, ['--version'], { encoding: 'utf8' });
  assert.deepEqual([built.stdout, built.stderr], [`${version}\n`, '']);
  const alone = join(folder, 'package', bin.bobtail);
  mkdirSync(join(alone, '..'), { recursive: true });
  cpSync(join(PACKAGE, bin.bobtail), alone);
  const unbuilt = spawnSync(alone, ['--version'], { encoding: 'utf8' });
  assert.deepEqual([unbuilt.status, unbuilt.stdout], [70, '']);
  assert.match(unbuilt.stderr, /^bobtail: not built yet: npm run build \(no .*main\.js\)\n$/);
});
