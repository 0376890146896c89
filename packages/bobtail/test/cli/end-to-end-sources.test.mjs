/** A TypeScript service, bundled and minified: its code is told where people wrote it. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildSync } from 'esbuild';
import { load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { reportOf, startRecording } from './recordings.mjs';
import { makeFolder, runBobtail } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const SERVICE = `import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { plantedHog } from './hog';

const HOG_MS = 40;

const server = createServer((request, response) => {
  response.end(request.url === '/hog' ? String(plantedHog(HOG_MS)) : 'quick');
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(\`listening \${port} pid \${process.pid}\\n\`);
});
`;
const HOG = `/** Keeps the loop. */

interface Rounds {
  count: number;
}

export function plantedHog(forMs: number): number {
  const until: number = Date.now() + forMs;
  const rounds: Rounds = { count: 0 };
  while (Date.now() < until) {
    rounds.count += Math.sqrt(rounds.count) > 0 ? 1 : 2;
  }
  return rounds.count;
}
`;
const HOG_LINES = [7, 14];
const ORIGINAL = /^plantedHog (.*):(\d+):(\d+)$/;

/** Folder of the bundle and its source; everything is on line 1 of the bundle. */
function build(t, format = 'cjs') {
  // What a `file:` URL escapes, which is how ES modules are named.
  const folder = join(realpathSync(makeFolder(t)), 'a b é 100%25');
  mkdirSync(join(folder, 'src'), { recursive: true });
  writeFileSync(join(folder, 'src/service.ts'), SERVICE);
  const source = join(folder, 'src/hog.ts');
  writeFileSync(source, HOG);
  const outfile = join(folder, `dist/service.${format === 'esm' ? 'mjs' : 'js'}`);
  buildSync({
    absWorkingDir: folder,
    entryPoints: ['src/service.ts'],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format,
    sourcemap: true,
  });
  const bundle = readFileSync(outfile, 'utf8');
  assert.ok(!bundle.includes('plantedHog'), bundle);
  return { folder, source, outfile };
}

async function recordService(t, path, { folder, outfile }, flags = []) {
  const service = await startRecording(t, [path, ...flags, outfile], { cwd: folder });
  const count = 60;
  const route = (n) => (n % 3 === 0 ? '/hog' : '/quick');
  assert.equal(await load(service.port, { count, path: route }), count);
  await service.end();
  return service.folder;
}

function assertInHog(location, source) {
  const [, file, line] = ORIGINAL.exec(location ?? '') ?? [];
  assert.equal(file, source, location);
  assert.ok(line >= HOG_LINES[0] && line <= HOG_LINES[1], location);
}

for (const { path, version } of nodes) {
  test(`${version}: the hog of a minified bundle is told in its TypeScript`, async (t) => {
    const built = build(t);
    const { source, outfile, folder } = built;
    const recording = await recordService(t, path, built);

    const report = await reportOf(recording);
    const hog = report.culprits.find(({ location }) => ORIGINAL.test(location ?? ''));
    assert.ok(hog !== undefined, JSON.stringify(report.culprits));
    assert.equal(hog.route, 'GET /hog');
    assertInHog(hog.location, source);
    assert.ok(hog.generatedLocation.includes(` ${outfile}:`), hog.generatedLocation);
    assert.ok(!hog.generatedLocation.includes('plantedHog'), hog.generatedLocation);
    assert.deepEqual(report.notes, []);

    const { stdout: text } = await runBobtail(['report', recording], { cwd: folder });
    assert.match(text, /plantedHog (?:\S*\/)?src\/hog\.ts:\d+:\d+/);
    assert.ok(!text.includes('service.js:'), text);

    const asked = await runBobtail(['explain', recording, '--json']);
    assert.equal(asked.code, 0, asked.stderr);
    const explanation = JSON.parse(asked.stdout);
    assertValid('explain', explanation);
    const told = JSON.stringify(explanation);
    assert.match(told, /"location":"plantedHog [^"]*src\/hog\.ts:\d+:\d+"/);
    assert.match(told, /"generatedLocation":"[^"]*service\.js:\d+:\d+"/);
    const explained = await runBobtail(['explain', recording, '--events'], { cwd: folder });
    assert.match(explained.stdout, /plantedHog (?:\S*\/)?src\/hog\.ts:\d+:\d+/);

    appendFileSync(source, '// changed\n');
    const { notes } = await reportOf(recording);
    const note = `${source} was changed after it was recorded: its lines may have moved`;
    assert.deepEqual(notes, [note]);
    const { stdout: noted } = await runBobtail(['report', recording], { cwd: folder });
    assert.match(noted, /hog\.ts was changed after it was recorded: its lines may have moved/);
  });
}

for (const { path, version } of nodes) {
  test(`${version}: an ES module that Node reads the source map of, too`, async (t) => {
    const built = build(t, 'esm');
    const { source, outfile, folder } = built;
    const recording = await recordService(t, path, built, ['--enable-source-maps']);
    const report = await reportOf(recording);
    const hog = report.culprits.find(({ location }) => ORIGINAL.test(location ?? ''));
    assertInHog(hog?.location, source);
    assert.ok(hog.generatedLocation.includes(` ${outfile}:`), hog.generatedLocation);
    assert.deepEqual(report.notes, []);

    if (path !== nodes[0].path) return;
    // Built anew after the recording: whoever compares or exports is told.
    appendFileSync(outfile, '// changed\n');
    const note = `${outfile} was changed after it was recorded: places in it may be wrong`;
    const asked = await runBobtail(['diff', recording, recording, '--json']);
    assert.equal(asked.code, 0, asked.stderr);
    const difference = JSON.parse(asked.stdout);
    assertValid('diff', difference);
    assert.deepEqual(difference.notes, [note]);
    for (const format of ['text', 'markdown']) {
      const flags = format === 'markdown' ? ['--markdown'] : [];
      const { stdout } = await runBobtail(['diff', recording, recording, ...flags]);
      assert.ok(stdout.replaceAll('\\', '').includes(note), stdout);
    }
    for (const format of ['pprof', 'parquet']) {
      const out = join(folder, `tail.${format}`);
      const exported = await runBobtail(['export', recording, '--format', format, '--out', out]);
      assert.equal(exported.code, 0, exported.stderr);
      assert.ok(exported.stderr.includes(`bobtail: ${note}`), exported.stderr);
    }
  });
}

const EVALUATED = `const hog = (name) => eval(
  'function plantedHog(forMs) {\\n  const until = Date.now() + forMs;\\n  let n = 0;\\n' +
  '  while (Date.now() < until) n += Math.sqrt(n) > 0 ? 1 : 2;\\n' +
  '  return n;\\n}\\nplantedHog' + name);
const named = hog('//# sourceURL=webpack-internal:///./src/hog.js');
const nameless = hog('');
const server = require('node:http').createServer(({ url }, response) => {
  response.end(String(url === '/named' ? named(40) : url === '/nameless' ? nameless(40) : 0));
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write('listening ' + server.address().port + ' pid ' + process.pid + '\\n');
});
`;

for (const { path, version } of nodes) {
  test(`${version}: code out of eval is told as it names itself, or as that`, async (t) => {
    const folder = realpathSync(makeFolder(t));
    const outfile = join(folder, 'service.js');
    writeFileSync(outfile, EVALUATED);
    const service = await startRecording(t, [path, outfile], { cwd: folder });
    const routes = ['/named', '/nameless', '/quick'];
    const count = 60;
    assert.equal(await load(service.port, { count, path: (n) => routes[n % 3] }), count);
    await service.end();
    // Of all requests: which are the slowest is chance.
    const { culprits } = await reportOf(service.folder, '--tail', '1');
    const places = culprits.flatMap(({ location }) => location ?? []);
    const told = places.filter((place) => place.startsWith('plantedHog '));
    const names = new Set(told.map((place) => place.replace(/^plantedHog |:\d+:\d+$/g, '')));
    assert.deepEqual([...names].sort(), ['(eval)', 'webpack-internal:///./src/hog.js']);
  });
}
