// Whether the end of a service that nobody asked for is told, with what it said.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const RUNNING = new URL('running.mjs', import.meta.url).href;
const LISTENS = `console.log('{"listening":{"port":1,"pid":1}}');`;
const FAILS = "() => { console.error('no more room'); process.exit(3); }";
/** Stays until it is told to end, and fails on SIGUSR2. */
const SERVICE = `process.on('SIGUSR2', ${FAILS}); setInterval(() => 0, 1000); ${LISTENS}`;

/** What a program that runs the service prints on stderr. */
async function toldOf(then) {
  const program = `
    import { Running } from ${JSON.stringify(RUNNING)};
    const running = await Running.start(['-e', ${JSON.stringify(SERVICE)}], { env: {}, core: 0 });
    ${then}
    await running.stop();
  `;
  const args = ['--input-type=module', '--eval', program];
  return (await promisify(execFile)(process.execPath, args)).stderr;
}

test('a service that ends by itself is told with its code and what it said', async () => {
  const told = await toldOf("running.child.kill('SIGUSR2'); await running.closed;");
  assert.match(told, /^process \d+ of a service ended by itself with 3; it said: no more room$/m);
});

test('of one that is stopped nothing is told', async () => {
  assert.equal(await toldOf(''), '');
});
