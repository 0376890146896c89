/** What only a real terminal shows: Ctrl-C, colours, the progress line. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { MAIN, makeFolder, SERVER } from './run-bobtail.mjs';

/** In CI it must be had. */
const hasScript = process.env.CI === 'true' || spawnSync('script', ['--version']).status === 0;
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * Runs the command line in a pseudo-terminal; `type(text)` presses keys, `until(text)` waits for
 * it on the screen. A terminal that is still there when its test ends would keep the whole run of
 * tests from ending, so it ends with its test.
 */
function startInTerminal(t, args, cwd, env = {}) {
  // Without `exec` some shells stay in between, get the Ctrl-C too and die of it.
  const command = `exec ${[process.execPath, MAIN, ...args].map(quote).join(' ')}`;
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd,
    env: { ...process.env, TERM: 'xterm', ...env },
  });
  t.after(() => child.kill());
  const seen = { text: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    seen.text += text;
  });
  const ended = new Promise((resolve) => {
    child.on('close', (code) => resolve({ code, text: seen.text }));
  });
  const until = async (text) => {
    while (!seen.text.includes(text)) {
      if (t.signal.aborted) throw new Error(`"${text}" did not come in:\n${seen.text}`);
      if (child.exitCode !== null) throw new Error(`ended before "${text}" came:\n${seen.text}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return seen.text;
  };
  return { type: (text) => child.stdin.write(text), until, ended };
}

test('Ctrl-C in a terminal arrives once', { skip: !hasScript, timeout: 30_000 }, async (t) => {
  const args = ['record', '--', process.execPath, SERVER, 'on-SIGINT=6'];
  const { type, until, ended } = startInTerminal(t, args, makeFolder(t));
  await until('listening');
  type('\x03');
  const { code, text } = await ended;
  assert.equal(code, 6, text);
  assert.equal(text.match(/got SIGINT/g).length, 1, text);
});

test('progress is one line on a terminal only', {
  skip: !hasScript,
  timeout: 30_000,
}, async (t) => {
  const service = ['record', '--', process.execPath, SERVER];
  const { type, until, ended } = startInTerminal(t, service, makeFolder(t), { CI: '' });
  await until('bobtail: recording port');
  type('\x03');
  const { text } = await ended;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the line is cleared with ESC
  assert.match(text, /\x1b\[2Kbobtail: recording port \d+ · \d+ requests · [^\n]*\r/);
  const args = [...service, 'exit-after=2500=0'];
  const inCi = await startInTerminal(t, args, makeFolder(t), { CI: '1' }).ended;
  assert.doesNotMatch(inCi.text, /\[2K/);
});

test('what a boost does is one line on a terminal, once a second', {
  skip: !hasScript,
  timeout: 60_000,
}, async (t) => {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root');
  const boost = ['boost', '--actuator', 'emulated', '--policy', 'static:peak'];
  const service = [...boost, '--', process.execPath, SERVER];
  const { type, until, ended } = startInTerminal(t, service, makeFolder(t), { CI: '' });
  const port = /listening (\d+)/.exec(await until('listening'))[1];
  await until('EMULATED frequency · 1 boost');
  for (let n = 0; n < 40; n += 1) await fetch(`http://127.0.0.1:${port}/`).then((r) => r.text());
  await until('requests · p50');
  type('\x03');
  const { text } = await ended;
  const parts = [
    /bobtail: EMULATED frequency · 1 boost · boosted [\d.]+ m?s \([\d.]+ %\)/,
    /energy 2\.\d+× \(modelled\)/,
    /40 requests · p50 [\d.]+ [mµ]s · [^\n]*\r/,
  ];
  assert.match(text, new RegExp(parts.map(({ source }) => source).join(' · ')));
});
