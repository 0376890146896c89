// Records planted causes under a load of many requests, for an answer from the page alone.
//
//   node workloads/first-use/record.mjs OUT [CAUSE…]
//
// Each becomes OUT/<cause>.bobtail with its report.html. docs/design/first-use.md tells what was
// read off them by somebody who had only the page.
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const workloads = dirname(here);
const bobtail = join(workloads, '../packages/bobtail/dist/cli/main.js');

/** What is asked of each, and what its recorder and its Node are told. */
const CAUSES = {
  'loop-hog': { load: ['/quick=95', '/export=5'] },
  'pool-exhaustion': {
    load: ['--rate', '50', '/short=97', '/reports=3'],
    environment: { UV_THREADPOOL_SIZE: '4' },
  },
  'gc-churn': { load: ['/churn=60', '/full=2'], node: ['--expose-gc'] },
  'agent-queue': { load: ['--rate', '100', '/health=78', '/ask=22'] },
  compile: { load: ['/health=95', '/script=5'] },
  throttled: { load: ['--rate', '40', '/health=80', '/compute=20'], record: ['--not-running'] },
};

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function record(out, cause) {
  const { load, node = [], record = [], environment } = CAUSES[cause];
  const onPort = [process.execPath, join(here, 'load.mjs'), ...load].map(quoted).join(' ');
  const folder = join(out, `${cause}.bobtail`);
  const flags = ['--quiet', '--no-report', '--out', folder, '--on-port', onPort, ...record];
  const server = [process.execPath, ...node, join(workloads, cause, 'server.cjs')];
  return new Promise((done, fail) => {
    const env = { ...process.env, ...environment };
    const args = [bobtail, 'record', ...flags, '--', ...server];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('error', fail);
    child.once('exit', (code) => (code === 0 ? done() : fail(new Error(`${cause}: ${code}`))));
  });
}

const [out, ...asked] = process.argv.slice(2);
if (out === undefined) throw new Error('node workloads/first-use/record.mjs OUT [CAUSE…]');
for (const cause of asked.length > 0 ? asked : Object.keys(CAUSES)) {
  if (!Object.hasOwn(CAUSES, cause)) {
    throw new Error(`${cause}: one of ${Object.keys(CAUSES).join(', ')}`);
  }
  mkdirSync(resolve(out), { recursive: true });
  await record(resolve(out), cause);
  process.stdout.write(`${join(resolve(out), `${cause}.bobtail`, 'report.html')}\n`);
}
