/** A service with a route for each request: every answer is bounded, and says what it left out. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { builtExample } from '../../../../workloads/harness/built-example.mjs';
import { runBobtail } from './run-bobtail.mjs';

/** A million take ten times as long and no more memory: `bench/routes/run.mjs`. */
const ROUTES = 100_000;
/** Routes that are told by name; the others are `(other)`. */
const NAMED = 1000;
/** Node alone is a tenth of it. */
const MEMORY_KIB_MAX = 512 * 1024;
const PAGE_BYTES_MAX = 2 ** 20;
/** A tenth of the requests takes a tenth of the analysis, and all of the start of a process. */
const TIMES_A_TENTH_MAX = 10;

let home;
let hook;

before(() => {
  home = mkdtempSync(join(tmpdir(), 'bobtail-routes-'));
  const manyRoutes = builtExample('many_routes');
  execFileSync(manyRoutes, [String(ROUTES), join(home, 'routes')]);
  execFileSync(manyRoutes, [String(ROUTES / 10), join(home, 'tenth')]);
  hook = join(home, 'used.cjs');
  writeFileSync(
    hook,
    `process.on('exit', () => require('node:fs').writeFileSync(
      ${JSON.stringify(join(home, 'used'))}, JSON.stringify(process.resourceUsage())));`,
  );
});

after(() => rmSync(home, { recursive: true, force: true }));

function used() {
  return JSON.parse(readFileSync(join(home, 'used'), 'utf8'));
}

/** Runs it and holds that it took bounded memory. */
async function bounded(...args) {
  const env = { NODE_OPTIONS: `--require "${hook}"` };
  const result = await runBobtail(args, { cwd: home, env });
  assert.equal(result.code, 0, `${args}: ${result.stderr}`);
  const peakKib = used().maxRSS;
  assert.ok(peakKib < MEMORY_KIB_MAX, `${args}: ${peakKib} KiB`);
  return result.stdout;
}

test('the report names a thousand routes and puts the others together', async () => {
  const report = JSON.parse(await bounded('report', 'routes', '--json'));
  assert.equal(report.requests.count, ROUTES);
  const routes = new Set(report.breakdown.map(({ route }) => route));
  assert.ok(routes.size <= NAMED + 2, String(routes.size));
  assert.ok(routes.has('*') && routes.has('(other)'));
  const counted = report.breakdown.filter(({ route }) => route !== '*');
  assert.equal(
    counted.reduce((sum, { count }) => sum + count, 0),
    ROUTES,
  );
});

test('the time rises no faster than the requests', async () => {
  const cpuUs = async (recording) => {
    await bounded('report', recording, '--json');
    return used().userCPUTime + used().systemCPUTime;
  };
  const [tenth, whole] = [await cpuUs('tenth'), await cpuUs('routes')];
  assert.ok(whole < TIMES_A_TENTH_MAX * tenth, `${tenth} µs and ${whole} µs`);
});

test('the pages stay small', async () => {
  await bounded('report', 'routes', '--html', 'report.html');
  await bounded('diff', 'routes', 'routes', '--html', 'diff.html');
  for (const name of ['report.html', 'diff.html']) {
    const { size } = statSync(join(home, name));
    assert.ok(size < PAGE_BYTES_MAX, `${name}: ${size} bytes`);
  }
});

test('a difference tells the routes with most time', async () => {
  const diff = JSON.parse(await bounded('diff', 'routes', 'routes', '--json'));
  assert.equal(diff.a.requests, ROUTES);
  assert.ok(diff.routes.length <= 101, String(diff.routes.length));
  assert.equal(diff.routes[0].route, '*');
});

test('exports hold every request that was asked for', async () => {
  await bounded('export', 'routes', '--to', 'hdr', 'a.hlog', '--quiet');
  const tags = new Set(readFileSync(join(home, 'a.hlog'), 'utf8').match(/^Tag=[^,]*/gm));
  assert.ok(tags.size <= NAMED + 1, String(tags.size));
  for (const [format, out] of [
    ['perfetto', 'a.pftrace'],
    ['otlp', 'a.pb'],
    ['pprof', 'a.pb.gz'],
  ]) {
    await bounded('export', 'routes', '--to', format, out, '--quiet');
    assert.ok(statSync(join(home, out)).size > 0);
  }
  await bounded('export', 'routes', '--to', 'parquet', 'tables', '--quiet');
  assert.ok(readdirSync(join(home, 'tables')).includes('requests.parquet'));
});

test('gates of a route that came late are judged on it', async () => {
  const route = `route("GET /item/${ROUTES - 1}").mean`;
  const gates = ['--fail-on', `${route}<1s`, '--fail-on', `route("GET /none").mean<1s`, '--json'];
  const report = await runBobtail(['report', 'routes', ...gates], { cwd: home });
  const [late, none] = JSON.parse(report.stdout).gates;
  assert.equal(late.outcome, 'passed');
  assert.ok(late.value > 0, String(late.value));
  assert.match(none.reason, /no request of this route/);
  const change = ['--fail-on', `${route}<+10%`, '--json'];
  const diff = await runBobtail(['diff', 'routes', 'routes', ...change], { cwd: home });
  const { gates: told, routes } = JSON.parse(diff.stdout);
  assert.equal(told[0].reason, 'too few requests or blocks of time');
  assert.equal(routes.length, 102);
});
