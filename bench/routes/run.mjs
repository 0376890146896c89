// Measures every answer about a service with a route for each request, up to a million of them: CPU
// time, memory and size. Time may rise with the requests; memory and pages may not.
//
// The recordings are made up (crates/breakdown/examples/many_routes.rs).
//
//   node bench/routes/run.mjs [--routes 1000,100000,1000000] [--out DIR]
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const main = join(root, 'packages/bobtail/dist/cli/main.js');
const { values } = parseArgs({
  options: {
    routes: { type: 'string', default: '1000,100000,1000000' },
    out: { type: 'string' },
  },
});
const EXAMPLE = ['-p', 'bobtail-breakdown', '--example', 'many_routes'];

/** What is asked, and the file or folder it leaves; without one the answer is on stdout. */
const QUESTIONS = [
  ['report', 'r', '--json'],
  ['report', 'r', '--html', 'report.html'],
  ['diff', 'r', 'r', '--json'],
  ['diff', 'r', 'r', '--html', 'diff.html'],
  ['explain', 'r', '--json'],
  ['export', 'r', '--to', 'hdr', 'a.hlog'],
  ['export', 'r', '--to', 'perfetto', 'a.pftrace'],
  ['export', 'r', '--to', 'otlp', 'a.pb'],
  ['export', 'r', '--to', 'pprof', 'a.pb.gz'],
  ['export', 'r', '--to', 'parquet', 'tables'],
];

/** A process knows its own peak of memory and CPU time when it ends. */
const HOOK = `process.on("exit", () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  console.error("peak " + maxRSS + " " + (userCPUTime + systemCPUTime));
})`;

function sizeOf(path) {
  const stat = statSync(path);
  const inside = (name) => sizeOf(join(path, name));
  return stat.isDirectory()
    ? readdirSync(path).reduce((sum, name) => sum + inside(name), 0)
    : stat.size;
}

function ask(cwd, args) {
  const hook = join(cwd, 'hook.cjs');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--require', hook, main, ...args],
    { cwd, encoding: 'utf8', maxBuffer: 2 ** 30 },
  );
  const [, kib, us] = /peak (\d+) (\d+)/.exec(stderr) ?? [];
  if (status !== 0 || us === undefined) throw new Error(`${args.join(' ')}: ${stderr}`);
  const out = args.at(-1);
  const bytes = out === '--json' ? Buffer.byteLength(stdout) : sizeOf(join(cwd, out));
  if (out !== '--json') rmSync(join(cwd, out), { recursive: true });
  return { question: args.join(' '), cpuS: us / 1e6, mib: kib / 1024, bytes };
}

const rows = [];
for (const routes of values.routes.split(',').map(Number)) {
  const cwd = mkdtempSync(join(tmpdir(), 'bobtail-routes-'));
  const make = [
    'run',
    '--profile',
    'tested',
    '--quiet',
    ...EXAMPLE,
    '--',
    String(routes),
    join(cwd, 'r'),
  ];
  execFileSync('cargo', make, { cwd: root, stdio: 'inherit' });
  writeFileSync(join(cwd, 'hook.cjs'), HOOK);
  for (const args of QUESTIONS) rows.push({ routes, ...ask(cwd, args) });
  rmSync(cwd, { recursive: true });
}
const lines = rows.map(({ routes, question, cpuS, mib, bytes }) => {
  const cells = [routes.toLocaleString('en'), `\`${question}\``, cpuS.toFixed(2), mib.toFixed(0)];
  return `| ${[...cells, Math.ceil(bytes / 1024).toLocaleString('en')].join(' | ')} |`;
});
const head = ['| routes | | CPU s | MiB | answer, KiB |', '|---|---|---|---|---|'];
const table = [...head, ...lines, ''].join('\n');
process.stdout.write(table);
if (values.out !== undefined) {
  mkdirSync(values.out, { recursive: true });
  writeFileSync(join(values.out, 'rows.json'), `${JSON.stringify(rows, null, 1)}\n`);
  writeFileSync(join(values.out, 'table.md'), table);
}
