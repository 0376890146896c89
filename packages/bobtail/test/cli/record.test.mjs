/** `bobtail record` with real services: exit codes, signals, folders, load commands. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder, PACKAGE, runBobtail, SERVER, startBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const NODE = process.execPath;
const readRun = (folder) => JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8'));

test('the exit code of the service is passed through', async (t) => {
  const cwd = makeFolder(t);
  const result = await runBobtail(['record', '--', NODE, SERVER, 'exit-after=200=7'], { cwd });
  assert.equal(result.code, 7);
  assert.match(result.stderr, /recorded pid \d+ · node \d+\.\d+\.\d+ · \d+ requests · 0 lost/);
  assert.match(result.stderr, /bobtail report recording\.bobtail/);
  const run = readRun(join(cwd, 'recording.bobtail'));
  assert.deepEqual(run.outcome, { exitCode: 7, signal: null });
  assert.equal(run.node, process.version);
  assertValid('run', run);
});

test('the service gets its arguments unchanged and its own stdio', async (t) => {
  const cwd = makeFolder(t);
  const script = 'console.log(JSON.stringify(process.argv.slice(1)))';
  const args = ['a b', '--out', '--', '', '$x'];
  const result = await runBobtail(['record', NODE, '-e', script, ...args], { cwd });
  assert.deepEqual(JSON.parse(result.stdout), args);
});

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  test(`the service dies of ${signal}, and so does the recorder`, async (t) => {
    const { child, until, ended } = startBobtail(['record', '--', NODE, SERVER], {
      cwd: makeFolder(t),
    });
    await until('listening');
    child.kill(signal);
    const { code, signal: by } = await ended;
    assert.deepEqual({ code, by }, { code: null, by: signal });
  });
}

test('a core-dumping signal becomes 128 + n', async (t) => {
  const result = await runBobtail(['record', '--', 'sh', '-c', 'kill -KILL $$'], {
    cwd: makeFolder(t),
  });
  assert.equal(result.code, 137);
});

test('a signal to the recorder arrives once and its handler decides the code', async (t) => {
  const { child, until, ended } = startBobtail(
    ['record', '--', NODE, SERVER, 'on-SIGTERM=5', 'on-SIGUSR2=ignore'],
    { cwd: makeFolder(t) },
  );
  await until('listening');
  child.kill('SIGUSR2');
  await until('got SIGUSR2');
  child.kill('SIGTERM');
  const result = await ended;
  assert.equal(result.code, 5);
  assert.equal(result.stdout.match(/got SIGTERM/g).length, 1);
});

test('a signal to the whole process group arrives once', async (t) => {
  const { child, until, ended } = startBobtail(['record', '--', NODE, SERVER, 'on-SIGTERM=5'], {
    cwd: makeFolder(t),
    detached: true,
  });
  await until('listening');
  process.kill(-child.pid, 'SIGTERM');
  const result = await ended;
  assert.equal(result.code, 5);
  assert.equal(result.stdout.match(/got SIGTERM/g).length, 1);
});

test('NODE_OPTIONS of the user are kept, and odd paths are loaded', async (t) => {
  const folder = makeFolder(t);
  const odd = join(folder, 'pack "age x');
  mkdirSync(odd);
  for (const name of ['dist', 'native', 'package.json']) {
    symlinkSync(join(PACKAGE, name), join(odd, name));
  }
  symlinkSync(join(PACKAGE, '../../node_modules'), join(odd, 'node_modules'));
  const script =
    'console.log(process.title, process.execArgv.length, ' +
    'Object.keys(require.cache).some((path) => path.endsWith("agent/preload.js")))';
  const result = await runBobtail(['record', '--', NODE, '--no-deprecation', '-e', script], {
    cwd: folder,
    env: { NODE_OPTIONS: '--preserve-symlinks --preserve-symlinks-main --title="a b"' },
    main: join(odd, 'dist/cli/main.js'),
  });
  assert.equal(result.stdout, 'a b 3 true\n', result.stderr);
});

test('an existing recording is never written over', async (t) => {
  const cwd = makeFolder(t);
  mkdirSync(join(cwd, 'empty'));
  const args = ['record', '--out', 'empty', '--', NODE, SERVER, 'exit-after=100=0'];
  await runBobtail(args, { cwd });
  await runBobtail(args, { cwd });
  assert.deepEqual(readdirSync(cwd).sort(), ['empty', 'empty-2']);
  assert.ok(existsSync(join(cwd, 'empty-2/run.json')));
});

test('a command without a Node.js server: 69, and no folder is left', async (t) => {
  const cwd = makeFolder(t);
  const result = await runBobtail(['record', '--', 'true'], { cwd });
  assert.equal(result.code, 69);
  assert.match(
    result.stderr,
    /^bobtail: nothing recorded: no Node\.js server was seen .* exit code 0 after .* \(true\)\n$/,
  );
  assert.deepEqual(readdirSync(cwd), []);
});

test('--best-effort runs the service when it cannot be recorded', async (t) => {
  const args = ['record', '--best-effort', '--out', '/dev/null/x', '--', 'sh', '-c', 'exit 4'];
  const result = await runBobtail(args, { cwd: makeFolder(t) });
  assert.equal(result.code, 4);
  assert.equal(
    result.stderr,
    'bobtail: cannot write: not a folder (/dev/null); the service runs unrecorded\n',
  );
});

for (const [kind, ...args] of [['http', 'later=200'], ['other']]) {
  test(`$PORT is that of the ${kind} server`, async (t) => {
    const service = [NODE, join(PACKAGE, 'test/cli/fixtures/two-servers.cjs'), ...args];
    const command = ['record', '--no-report', '--on-port', 'echo loads $PORT >&2', '--'];
    const { stdout, stderr } = await runBobtail([...command, ...service], { cwd: makeFolder(t) });
    const [, port] = new RegExp(`^${kind} (\\d+)$`, 'm').exec(stdout);
    assert.match(stderr, new RegExp(`^loads ${port}$`, 'm'));
  });
}

test('--on-port runs the load with $PORT, unrecorded, and ends the service', async (t) => {
  const cwd = makeFolder(t);
  const ask = `fetch('http://127.0.0.1:$PORT/load').then((r) => r.text()).then(console.log)`;
  const load = `"${NODE}" -e "${ask}"; echo "recorded into $BOBTAIL_DIR."`;
  const args = ['record', '--no-report', '--on-port', load, '--', NODE, SERVER];
  const result = await runBobtail(args, { cwd });
  assert.equal(result.code, 0, result.stderr);
  assert.ok(result.stderr.includes('hello /load\nrecorded into .\n'), result.stderr);
  assert.deepEqual(readRun(join(cwd, 'recording.bobtail')).outcome, {
    exitCode: null,
    signal: 'SIGTERM',
  });
});

test('a failed load is told and has its own code', async (t) => {
  const args = [
    'record',
    '--no-report',
    '--no-html',
    '--on-port',
    'sleep 0.3; exit 3',
    '--',
    NODE,
    SERVER,
    'asked',
  ];
  const result = await runBobtail(args, { cwd: makeFolder(t) });
  assert.equal(result.code, 71);
  assert.match(
    result.stderr,
    /bobtail: the load command failed with exit code 3 \(sleep 0.3; exit 3\)\n$/,
  );
});

test('a service that dies under load: its code, and the load is ended', async (t) => {
  const load = `"${NODE}" -e "fetch('http://127.0.0.1:$PORT/exit/9').catch(() => 0)"; sleep 30`;
  const args = ['record', '--on-port', load, '--', NODE, SERVER];
  const started = Date.now();
  const result = await runBobtail(args, { cwd: makeFolder(t) });
  assert.equal(result.code, 9);
  assert.match(result.stderr, /bobtail: the service ended while the load command ran/);
  assert.ok(Date.now() - started < 30_000, 'the load was waited for');
});

test('Ctrl-C during the load ends both and is passed on once', async (t) => {
  const { child, until, ended } = startBobtail(
    ['record', '--on-port', 'echo loading; sleep 30', '--', NODE, SERVER, 'asked', 'on-SIGINT=0'],
    { cwd: makeFolder(t) },
  );
  await until('loading');
  child.kill('SIGINT');
  const result = await ended;
  assert.equal(result.code, 0);
  assert.equal(result.stdout.match(/got SIGINT/g).length, 1);
});

test('--duration stops the service; a graceful end counts as one', async (t) => {
  const args = ['record', '--no-report', '--duration', '1.5', '--'];
  const result = await runBobtail([...args, NODE, SERVER, 'asked', 'on-SIGTERM=0'], {
    cwd: makeFolder(t),
  });
  assert.equal(result.code, 0, result.stderr);
  assert.equal(result.stdout.match(/got SIGTERM/g).length, 1);
});

test('what a shell leaves behind is stopped too', async (t) => {
  const cwd = makeFolder(t);
  const args = ['record', '--no-report', '--duration', '1.5', '--'];
  const result = await runBobtail([...args, 'sh', '-c', `"${NODE}" "${SERVER}" asked; true`], {
    cwd,
  });
  assert.equal(result.code, 0, result.stderr);
  const pid = Number(/recorded pid (\d+)/.exec(result.stderr)[1]);
  // Gone, or a zombie where nobody reaps orphans.
  const stat = existsSync(`/proc/${pid}`) ? readFileSync(`/proc/${pid}/stat`, 'utf8') : ') Z';
  assert.match(stat, /\) Z/);
});

test('a service that ignores SIGTERM is killed after five seconds, and that is told', async (t) => {
  const args = ['record', '--no-report', '--duration', '0.2', '--'];
  const started = Date.now();
  const service = [NODE, SERVER, 'asked', 'on-SIGTERM=ignore'];
  const result = await runBobtail([...args, ...service], { cwd: makeFolder(t) });
  assert.equal(result.code, 0, result.stderr);
  assert.match(result.stderr, /killed: SIGTERM did not end the service/);
  assert.ok(Date.now() - started >= 5_000);
});

test('--quiet says nothing when all is well', async (t) => {
  const args = ['record', '--quiet', '--', NODE, SERVER, 'asked', 'exit-after=300=0'];
  const result = await runBobtail(args, { cwd: makeFolder(t) });
  assert.equal(result.stderr, '');
});
