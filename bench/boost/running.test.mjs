// Whether the end of a service that nobody asked for is told, with what it said.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const RUNNING = new URL('running.mjs', import.meta.url).href;
const LISTENS = `console.log('{"listening":{"port":1,"pid":1}}');`;
/** Ends after a moment. */
const FAILS = "console.error('no more room'); process.exit(3);";
const ENDS = `${LISTENS} setTimeout(() => { ${FAILS} }, 50);`;
/** Until it is told to. */
const STAYS = `${LISTENS} setInterval(() => 0, 1000);`;

/** What a program that runs this service prints on stderr. */
async function toldOf(service, then) {
  const program = `
    import { Running } from ${JSON.stringify(RUNNING)};
    const running = await Running.start(['-e', ${JSON.stringify(service)}], { env: {}, core: 0 });
    ${then}
    await running.stop();
  `;
  const args = ['--input-type=module', '--eval', program];
  return (await promisify(execFile)(process.execPath, args)).stderr;
}

test('a service that ends by itself is told with its code and what it said', async () => {
  const told = await toldOf(ENDS, 'await running.closed;');
  assert.match(told, /^process \d+ of a service ended by itself with 3; it said: no more room$/m);
});

test('of one that is stopped nothing is told', async () => {
  assert.equal(await toldOf(STAYS, ''), '');
});
