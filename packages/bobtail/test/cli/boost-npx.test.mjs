/** `npx bobtail boost`: npm's shell passes no signal on, and the service must end all the same. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { makeTree, until } from './boosted.mjs';
import { MAIN, makeFolder } from './run-bobtail.mjs';

/** Says each SIGTERM, and ends well half a second after the first. */
const DRAINS = `
  require('node:http').createServer().listen(0, '127.0.0.1', () => console.log('listening'));
  process.on('SIGTERM', () => {
    console.log('told');
    setTimeout(() => process.exit(0), 900);
  });`;

for (const [what, signal] of [
  ['its shell is ended, which passes no signal on', (shell) => process.kill(shell, 'SIGTERM')],
  ['all of it is told to', (_, npx) => process.kill(-npx.pid, 'SIGTERM')],
]) {
  test(`under npx a service is told to end once where ${what}`, async (t) => {
    const cwd = makeFolder(t);
    const lever = ['--lever-root', makeTree(makeFolder(t)).root, '--policy', 'static:peak'];
    const service = [process.execPath, '-e', DRAINS];
    const words = [process.execPath, MAIN, 'boost', '-q', ...lever, '--', ...service];
    // As npm does: itself, its shell, the command.
    const inner = `sh -c '"$0" "$@"; true' "$0" "$@" & echo shell $!; wait`;
    const npx = spawn('sh', ['-c', inner, ...words], {
      ...{ cwd, argv0: 'npm exec bobtail', detached: true },
      env: { ...process.env, npm_command: 'exec', BOBTAIL_RUN_DIR: cwd },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    npx.stdout.setEncoding('utf8').on('data', (more) => {
      text += more;
    });
    await until('it listens', () => text.includes('listening'));
    signal(Number(/^shell (\d+)$/m.exec(text)[1]), npx);
    // Whoever writes to it has ended.
    await once(npx.stdout, 'end');
    assert.equal(text.split('told').length - 1, 1, text);
    await until('all is back', () => readdirSync(cwd).length === 0);
  });
}
