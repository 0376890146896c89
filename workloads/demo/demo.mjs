// The demo: records the bundled service under load, reports, and explains the slowest request.
//
// About 35 seconds. Progress goes to stderr, the answers to stdout. Needs the built package.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const bobtail = join(here, '..', '..', 'packages', 'bobtail', 'dist', 'cli', 'main.js');

function progress(text) {
  process.stderr.write(`demo: ${text}\n`);
}

/** Runs a verb of Bobtail; its output is the demo's output. */
function verb(...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bobtail, ...args], { stdio: 'inherit' });
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      if (code === 0) resolve();
      else reject(new Error(`bobtail ${args[0]} ended with ${signal ?? code}`));
    });
  });
}

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

async function main() {
  if (!existsSync(bobtail)) throw new Error('not built yet: npm run build');
  const out =
    process.argv[2] ?? join(mkdtempSync(join(tmpdir(), 'bobtail-demo-')), 'recording.bobtail');
  const load = [process.execPath, join(here, 'load.mjs')].map(quoted).join(' ');
  const server = [process.execPath, join(here, 'server.cjs')];
  progress('1 of 3: recording the shop under 500 requests/s for half a minute');
  await verb(
    'record',
    '--no-report',
    '--out',
    out,
    '--warmup',
    '2',
    '--on-port',
    load,
    '--',
    ...server,
  );
  progress('2 of 3: the report');
  await verb('report', out);
  progress('3 of 3: the slowest request, segment by segment');
  await verb('explain', out, '--slowest', '1');
  progress(`the recording is ${out}`);
}

await main().catch((error) => {
  progress(error.message);
  process.exitCode = 1;
});
