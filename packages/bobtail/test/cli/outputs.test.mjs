/** Several outputs of one command: all are there or none is, whatever comes in between. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  createReadStream,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { makeFolder, runBobtail, SERVER, startBobtail } from './run-bobtail.mjs';
import { mountSmallDisk, noSmallDisk } from './small-disk.mjs';

const REQUESTS = 40;
const LOAD = `${process.execPath} -e "
  (async () => {
    for (let i = 0; i < ${REQUESTS}; i++) {
      await (await fetch('http://127.0.0.1:' + process.env.PORT + '/same')).text();
    }
  })()"`;
const GATE = ['--fail-on', 'p50<10s'];
const CHANGE = ['--fail-on', 'p50<+10s'];

let home;
let recording;

before(async () => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-outputs-'));
  const args = ['record', '--no-report', '--on-port', LOAD, '--', process.execPath, SERVER];
  const { code, stderr } = await runBobtail(args, { cwd: home });
  assert.equal(code, 0, stderr);
  recording = join(home, 'recording.bobtail');
});

after(() => rmSync(home, { recursive: true, force: true }));

const report = (...args) => ['report', recording, ...GATE, ...args];
const diff = (...args) => ['diff', recording, recording, ...CHANGE, ...args];

const UNWRITABLE = () => [
  report('--html', 'a.html', '--junit', 'nowhere/b.xml'),
  report('--html', 'nowhere/a.html', '--junit', 'b.xml'),
  report('--html', 'a.html', '--junit', 'b.xml', '--markdown', 'nowhere/c.md'),
  report('--html', 'a.html', '--junit', 'b.xml', '--markdown', 'folder', '--json'),
  diff('--html', 'a.html', '--junit', 'folder'),
  diff('--html', 'a.html', '--junit', 'nowhere/b.xml', '--json'),
];

test('one that cannot be written leaves the others as they were', async (t) => {
  for (const args of UNWRITABLE()) {
    const cwd = makeFolder(t);
    mkdirSync(join(cwd, 'folder'));
    writeFileSync(join(cwd, 'a.html'), 'old');
    const { code, stdout, stderr } = await runBobtail(args, { cwd });
    assert.equal(code, 73, `${args}: ${stderr}`);
    assert.match(stderr, /^bobtail: cannot write: [^\n]* \((nowhere\/|folder)[^\n]*\)\n$/);
    assert.equal(stdout, '');
    assert.deepEqual(readdirSync(cwd).sort(), ['a.html', 'folder'], `${args}`);
    assert.equal(readFileSync(join(cwd, 'a.html'), 'utf8'), 'old');
    assert.deepEqual(readdirSync(join(cwd, 'folder')), []);
  }
});

test('a disk that is full for the second keeps both as they were', {
  skip: noSmallDisk,
}, async (t) => {
  const cwd = makeFolder(t);
  const full = mountSmallDisk(t, { megabytes: 1 });
  const gates = join(full, 'gates.xml');
  writeFileSync(join(cwd, 'a.html'), 'old');
  writeFileSync(gates, 'old');
  writeFileSync(join(full, 'filler'), Buffer.alloc(2 ** 20 - 2 ** 12));
  const args = report('--html', 'a.html', '--junit', gates, '--markdown', 'c.md');
  const { code, stdout, stderr } = await runBobtail(args, { cwd });
  assert.equal(code, 74, stderr);
  assert.equal(stderr, `bobtail: disk full (${gates})\n`);
  assert.equal(stdout, '');
  assert.deepEqual(readdirSync(cwd), ['a.html']);
  assert.deepEqual(readdirSync(full).sort(), ['filler', 'gates.xml']);
  assert.equal(readFileSync(join(cwd, 'a.html'), 'utf8'), 'old');
  assert.equal(readFileSync(gates, 'utf8'), 'old');
});

test('two outputs that are one file are refused', async (t) => {
  const cwd = makeFolder(t);
  symlinkSync('.', join(cwd, 'here'));
  const args = report('--html', 'a', '--junit', 'here/a');
  const { code, stdout, stderr } = await runBobtail(args, { cwd });
  assert.equal(code, 64, stderr);
  assert.equal(stderr, 'bobtail: two outputs are the same file (here/a)\n');
  assert.equal(stdout, '');
  assert.deepEqual(readdirSync(cwd), ['here']);
});

/**
 * A command that has written its page and waits, for as long as one likes, for a reader of its
 * second output, which is a pipe.
 */
async function halfway(t) {
  const cwd = makeFolder(t);
  assert.equal(spawnSync('mkfifo', [join(cwd, 'pipe')]).status, 0);
  writeFileSync(join(cwd, 'a.html'), 'old');
  const args = report('--html', 'a.html', '--markdown', 'c.md', '--junit', 'pipe', '--quiet');
  const { child, ended } = startBobtail(args, { cwd });
  t.after(() => child.kill('SIGKILL'));
  const complete = (name) => /^\.c\.md\.\d+-\w+\.partial$/.test(name);
  while (!readdirSync(cwd).some(complete)) {
    assert.equal(child.exitCode, null, 'it ended before it was halfway');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { cwd, child, ended };
}

const visible = (cwd) => readdirSync(cwd).filter((name) => !name.startsWith('.'));

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  test(`${signal} halfway leaves nothing`, async (t) => {
    const { cwd, child, ended } = await halfway(t);
    child.kill(signal);
    assert.equal((await ended).signal, signal);
    assert.deepEqual(readdirSync(cwd).sort(), ['a.html', 'pipe']);
    assert.equal(readFileSync(join(cwd, 'a.html'), 'utf8'), 'old');
  });
}

test('what SIGKILL leaves is named so, and the next one removes it', async (t) => {
  const { cwd, child, ended } = await halfway(t);
  child.kill('SIGKILL');
  assert.equal((await ended).signal, 'SIGKILL');
  assert.deepEqual(visible(cwd).sort(), ['a.html', 'pipe']);
  assert.equal(readFileSync(join(cwd, 'a.html'), 'utf8'), 'old');
  const left = readdirSync(cwd).filter((name) => name.startsWith('.'));
  assert.equal(left.length, 2);
  for (const name of left) {
    assert.match(name, new RegExp(`^\\.(a\\.html|c\\.md)\\.${child.pid}-[0-9a-f]{12}\\.partial$`));
  }
  // Of another output, of one who is still at it, and of somebody else: these are left alone.
  const others = ['.x.html.1-0123456789ab.partial', '.a.html.partial'];
  const alive = `.a.html.${process.pid}-0123456789ab.partial`;
  for (const name of [...others, alive]) writeFileSync(join(cwd, name), '');
  const again = report('--html', 'a.html', '--markdown', 'c.md', '--quiet');
  const { code, stderr } = await runBobtail(again, { cwd });
  assert.equal(code, 0, stderr);
  const now = [...others, alive, 'a.html', 'c.md', 'pipe'].sort();
  assert.deepEqual(readdirSync(cwd).sort(), now);
  assert.match(readFileSync(join(cwd, 'a.html'), 'utf8'), /^<!doctype html>/i);
});

test('what was put in its place is taken back when the next one cannot be', async (t) => {
  const { cwd, ended } = await halfway(t);
  // No file can take the place of a folder; there was none when the command looked.
  mkdirSync(join(cwd, 'c.md'));
  let text = '';
  for await (const piece of createReadStream(join(cwd, 'pipe'))) text += piece;
  assert.match(text, /^<\?xml /);
  const { code, stdout, stderr } = await ended;
  assert.equal(code, 73, stderr);
  assert.equal(stderr, 'bobtail: cannot write: is a folder (c.md)\n');
  assert.equal(stdout, '');
  assert.deepEqual(readdirSync(cwd).sort(), ['a.html', 'c.md', 'pipe']);
  assert.equal(readFileSync(join(cwd, 'a.html'), 'utf8'), 'old');
});
