/** Places in the source, by maps that the tools in use make. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, realpathSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { buildSync } from 'esbuild';
import typescript from 'typescript';
import { makeFolder, PACKAGE } from './run-bobtail.mjs';

const require = createRequire(import.meta.url);
const { Sources } = require(join(PACKAGE, 'dist/cli/sources/sources.js'));

const SERVICE = `interface Work {
  readonly rounds: number;
}

export function planted(work: Work): number {
  let sum = 0;
  for (let i = 0; i < work.rounds; i += 1) {
    sum += mixedIn(sum, i);
  }
  return sum;
}

function mixedIn(sum: number, i: number): number {
  return JSON.stringify({ sum, i }).length;
}
`;
const MARK = 'JSON.stringify';
const MARK_LINE = SERVICE.slice(0, SERVICE.indexOf(MARK)).split('\n').length;
const MARK_COLUMN = SERVICE.split('\n')[MARK_LINE - 1].indexOf(MARK) + 1;
const LATER_MS = Date.now() + 3_600_000;

/** Where `text` first is in a file, as V8 tells it. */
function placeOf(file, text = MARK, more = {}) {
  const code = readFileSync(file, 'utf8');
  const at = code.indexOf(text);
  assert.ok(at >= 0, `no ${text} in ${file}`);
  const before = code.slice(0, at).split('\n');
  const column = before.at(-1).length + 1;
  return { function: '', file, line: before.length, column, recordedMs: LATER_MS, ...more };
}

/** A folder with `src/service.ts`, bundled and minified to `dist/service.js`. */
function bundle(test, options = {}) {
  const folder = realpathSync(makeFolder(test));
  const source = join(folder, 'src/service.ts');
  mkdirSync(dirname(source));
  writeFileSync(source, SERVICE);
  const outfile = join(folder, 'dist/service.js');
  const result = buildSync({
    absWorkingDir: folder,
    entryPoints: [source],
    outfile,
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'cjs',
    sourcemap: true,
    logLevel: 'error',
    ...options,
  });
  assert.deepEqual(result.errors, []);
  return { folder, source, outfile, map: `${outfile}.map` };
}

function assertAtMark(found, source) {
  const { file, line, column } = found ?? {};
  assert.deepEqual({ file, line, column }, { file: source, line: MARK_LINE, column: MARK_COLUMN });
}

const rewrite = (file, change) => writeFileSync(file, change(readFileSync(file, 'utf8')));

for (const sourcemap of [true, 'inline', 'external']) {
  test(`a bundle of esbuild, its map ${sourcemap === true ? 'linked' : sourcemap}`, (t) => {
    const { source, outfile } = bundle(t, { sourcemap });
    const sources = new Sources();
    assertAtMark(sources.original(placeOf(outfile)), source);
    assert.deepEqual(sources.notes, []);
  });
}

test('a data URL that is percent-encoded', (t) => {
  const { source, outfile, map } = bundle(t, { sourcemap: 'external' });
  const url = `data:application/json,${encodeURIComponent(readFileSync(map, 'utf8'))}`;
  rewrite(outfile, (code) => `${code}//# sourceMappingURL=${url}\n`);
  rmSync(map);
  assertAtMark(new Sources().original(placeOf(outfile)), source);
});

test('one file of the TypeScript compiler, with a sourceRoot', (t) => {
  const folder = realpathSync(makeFolder(t));
  const file = join(folder, 'service.js');
  const { outputText, sourceMapText } = typescript.transpileModule(SERVICE, {
    fileName: 'service.ts',
    compilerOptions: { sourceMap: true, sourceRoot: '../elsewhere', target: 'es2022' },
  });
  assert.equal(JSON.parse(sourceMapText).sourceRoot, '../elsewhere/');
  writeFileSync(file, outputText);
  writeFileSync(`${file}.map`, sourceMapText);
  const found = new Sources().original(placeOf(file, MARK, { function: 'mixedIn' }));
  assertAtMark(found, join(dirname(folder), 'elsewhere/service.ts'));
  assert.equal(found.function, 'mixedIn');
});

test('an index map, as bundlers join maps', (t) => {
  const { source, outfile, map } = bundle(t);
  rewrite(outfile, (code) => `\n${code}`);
  rewrite(map, (json) =>
    JSON.stringify({
      version: 3,
      sections: [{ offset: { line: 1, column: 0 }, map: JSON.parse(json) }],
    }),
  );
  assertAtMark(new Sources().original(placeOf(outfile)), source);
});

test('a function that minification renamed has its name again', (t) => {
  const { outfile } = bundle(t);
  const code = readFileSync(outfile, 'utf8');
  const [, minified] = /function (\w+)\([^)]*\)\{return JSON/.exec(code) ?? [];
  assert.ok(minified !== undefined && minified !== 'mixedIn', code);
  const sources = new Sources();
  assert.equal(
    sources.original(placeOf(outfile, MARK, { function: minified })).function,
    'mixedIn',
  );
  assert.equal(sources.original(placeOf(outfile)).function, '');
});

test('a byte order mark moves nothing, as for Node', (t) => {
  const { source, outfile, map } = bundle(t);
  const place = placeOf(outfile, MARK, { function: 'mixedIn' });
  for (const file of [outfile, map]) rewrite(file, (text) => `\uFEFF${text}`);
  const sources = new Sources();
  assertAtMark(sources.original(place), source);
  const [, minified] = /function (\w+)\([^)]*\)\{return JSON/.exec(readFileSync(outfile, 'utf8'));
  assert.equal(sources.original({ ...place, function: minified }).function, 'mixedIn');
});

test('a column is one of UTF-16, after what is longer in bytes', (t) => {
  const { source, outfile } = bundle(t);
  // Written to a global, so that the bundler can neither fold it nor leave it out.
  const before = "globalThis.mood = '😀é'; ";
  rewrite(source, (code) => code.replace(`return ${MARK}`, `${before}return ${MARK}`));
  const entryPoints = [source];
  const how = { bundle: true, minify: true, format: 'cjs', charset: 'utf8', sourcemap: true };
  buildSync({ entryPoints, outfile, allowOverwrite: true, ...how });
  assert.match(readFileSync(outfile, 'utf8'), /mood=.😀é/u);
  const { line, column } = new Sources().original(placeOf(outfile));
  assert.deepEqual({ line, column }, { line: MARK_LINE, column: MARK_COLUMN + before.length });
});

test('code without a map, and code that is no file, stays where it is, without a note', (t) => {
  const { outfile } = bundle(t, { sourcemap: false });
  const sources = new Sources();
  assert.equal(sources.original(placeOf(outfile)), undefined);
  for (const file of ['node:internal/timers', 'evalmachine.<anonymous>', '']) {
    const question = { function: 'f', file, line: 1, column: 1, recordedMs: LATER_MS };
    assert.equal(sources.original(question), undefined);
  }
  assert.deepEqual(sources.notes, []);
});

test('a place that the map does not know stays where it is', (t) => {
  const { outfile } = bundle(t);
  const sources = new Sources();
  const place = placeOf(outfile);
  for (const wrong of [{ line: 99 }, { column: 1_000_000 }, { line: 0 }, { column: 0 }]) {
    assert.equal(sources.original({ ...place, ...wrong }), undefined, JSON.stringify(wrong));
  }
});

test('a generated file that is gone is counted, once', (t) => {
  const { outfile, folder } = bundle(t);
  const place = placeOf(outfile);
  rmSync(outfile);
  const sources = new Sources();
  assert.equal(sources.original(place), undefined);
  assert.equal(sources.original({ ...place, line: 2 }), undefined);
  assert.deepEqual(sources.notes, ['1 file that ran is not here: no source map was looked for']);
  assert.equal(sources.original({ ...place, file: join(folder, 'other.js') }), undefined);
  assert.deepEqual(sources.notes, ['2 files that ran are not here: no source map was looked for']);
});

const DAMAGE = [
  ['is missing', ({ map }) => rmSync(map), /service\.js\.map cannot be read: /],
  ['is cut', ({ map }) => rewrite(map, (json) => json.slice(0, 40)), /\.map is damaged: /],
  ['is no map', ({ map }) => writeFileSync(map, '{"version":3}'), /\.map is damaged: /],
  ['has no mappings', ({ map }) => writeFileSync(map, '[1]'), /\.map is damaged: /],
  [
    'is on a server',
    ({ outfile }) => rewrite(outfile, (code) => code.replace('=service', '=https://x.invalid/a')),
    /: https:\/\/x\.invalid\/a\.js\.map is no file$/,
  ],
  [
    'is no JSON by its URL',
    ({ outfile }) => rewrite(outfile, (code) => code.replace('=service', '=data:text/plain,')),
    /: its data URL holds no JSON$/,
  ],
  [
    'is a damaged URL',
    ({ outfile }) =>
      rewrite(outfile, (code) => code.replace('=service', '=data:application/json,%')),
    /: its data URL is damaged$/,
  ],
];

for (const [what, damage, note] of DAMAGE) {
  test(`a map that ${what} is told once and the place stays`, (t) => {
    const made = bundle(t);
    damage(made);
    const sources = new Sources();
    const place = placeOf(made.outfile);
    assert.equal(sources.original(place), undefined);
    assert.equal(sources.original({ ...place, column: place.column + 1 }), undefined);
    assert.equal(sources.notes.length, 1, sources.notes.join('\n'));
    assert.match(sources.notes[0], note);
    assert.ok(sources.notes[0].startsWith(`no source map of ${made.outfile}: `));
    assert.ok(!sources.notes[0].includes('\n'));
  });
}

test('a map that shows its damage at a look-up only is told, too', (t) => {
  const { outfile, map } = bundle(t);
  rewrite(outfile, (code) => `\n${code}`);
  // Line 1 is sound, which is what is looked at when the map is read.
  const mappings = [[], [null]];
  rewrite(map, () => JSON.stringify({ version: 3, sources: ['a.ts'], names: [], mappings }));
  const sources = new Sources();
  assert.equal(sources.original(placeOf(outfile)), undefined);
  assert.equal(sources.original(placeOf(outfile)), undefined);
  assert.equal(sources.notes.length, 1, sources.notes.join('\n'));
  assert.match(sources.notes[0], /\.map is damaged: /);
});

test('a map that is a pipe or a device is not waited for', (t) => {
  const { outfile, map } = bundle(t);
  rmSync(map);
  execFileSync('mkfifo', [map]);
  const sources = new Sources();
  assert.equal(sources.original(placeOf(outfile)), undefined);
  assert.deepEqual(sources.notes, [`no source map of ${outfile}: ${map} is no file`]);
});

test('code that is not what ran is told, with a map and without', (t) => {
  for (const sourcemap of [true, false]) {
    const { outfile } = bundle(t, { sourcemap });
    const sources = new Sources();
    const place = placeOf(outfile);
    for (const wrong of [{ line: 99 }, { column: 1_000_000 }]) {
      assert.equal(sources.original({ ...place, ...wrong }), undefined);
    }
    const why = 'is not what ran (changed since, or compiled in memory): its places are not in it';
    assert.deepEqual(sources.notes, [`${outfile} ${why}`]);
  }
});

test('a source that is no file is told as the map names it', (t) => {
  const { outfile, map } = bundle(t);
  rewrite(map, (json) => {
    const sources = ['webpack://app/./src/service.ts'];
    return JSON.stringify({ ...JSON.parse(json), sources });
  });
  assertAtMark(new Sources().original(placeOf(outfile)), 'webpack://app/src/service.ts');
});

const WEBPACK_NAMES = [
  ['webpack://app/./src/service.ts', true],
  ['webpack:///./src/service.ts?1a2b', true],
  ['webpack://app/src/gone.ts', false],
  ['webpack://app/webpack/bootstrap', false],
  ['webpack://app/%2e%2e/src/service.ts', false],
];

for (const [name, isThere] of WEBPACK_NAMES) {
  test(`${name} is ${isThere ? 'the file of the project' : 'left as it is'}`, (t) => {
    const { folder, source, outfile, map } = bundle(t);
    writeFileSync(join(folder, 'package.json'), '{}');
    rewrite(map, (json) => JSON.stringify({ ...JSON.parse(json), sources: [name] }));
    const { file, line } = new Sources().original(placeOf(outfile));
    assert.equal(line, MARK_LINE);
    if (isThere) assert.equal(file, source);
    else assert.match(file, /^webpack:/);
  });
}

test('a map with a source that it has not got leaves the place', (t) => {
  const { outfile, map } = bundle(t);
  rewrite(map, (json) => JSON.stringify({ ...JSON.parse(json), sources: [], names: [] }));
  assert.equal(new Sources().original(placeOf(outfile)), undefined);
});

test('maps that are too large together are told, not held', (t) => {
  const first = bundle(t);
  const second = bundle(t);
  const bytes = [first.outfile, first.map].map((file) => readFileSync(file).length);
  const sources = new Sources(bytes[0] + bytes[1]);
  assertAtMark(sources.original(placeOf(first.outfile)), first.source);
  assert.equal(sources.original(placeOf(second.outfile)), undefined);
  assertAtMark(sources.original(placeOf(first.outfile)), first.source);
  const expected = `no source map of ${second.outfile}: too large with those read before it`;
  assert.deepEqual(sources.notes, [expected]);
});

const BOMBS = [
  ['lines', { mappings: ';'.repeat(1000) }],
  ['mappings', { mappings: 'A'.padEnd(1000, ',') }],
  ['lines in a section', { sections: [section(0, { mappings: ';'.repeat(1000) })] }],
];

function section(line, map) {
  return { offset: { line, column: 0 }, map: { version: 3, sources: [], names: [], ...map } };
}

for (const [what, content] of BOMBS) {
  test(`a map of nothing but ${what} counts as what it takes in memory`, (t) => {
    const { outfile, map } = bundle(t);
    rewrite(map, () => JSON.stringify({ version: 3, sources: [], names: [], ...content }));
    const length = readFileSync(outfile, 'utf8').length;
    const expected = `no source map of ${outfile}: too large with those read before it`;
    for (const [room, notes] of [
      [7990, [expected]],
      [8010, []],
    ]) {
      const sources = new Sources(length + room);
      assert.equal(sources.original(placeOf(outfile)), undefined);
      assert.deepEqual(sources.notes, notes);
    }
  });
}

test('a section beyond the end of the file makes no lines', (t) => {
  const { outfile, map } = bundle(t);
  const lines = readFileSync(outfile, 'utf8').split('\n').length;
  const sections = [section(2 ** 31, { mappings: 'AAAA' })];
  rewrite(map, () => JSON.stringify({ version: 3, sections }));
  const sources = new Sources();
  assert.equal(sources.original(placeOf(outfile)), undefined);
  const why = `is damaged: a section begins in line ${2 ** 31 + 1} of ${lines}`;
  assert.deepEqual(sources.notes, [`no source map of ${outfile}: ${map} ${why}`]);
});

test('a bundle of many thousand lines is looked up whole', (t) => {
  const functions = Array.from(
    { length: 20_000 },
    (_, n) => `export function f${n}(x: number): number {\n  return x * ${n} + 1e9;\n}\n`,
  );
  const { source, outfile } = bundle(t);
  writeFileSync(source, functions.join(''));
  buildSync({
    entryPoints: [source],
    outfile,
    allowOverwrite: true,
    bundle: true,
    minify: true,
    sourcemap: true,
    format: 'cjs',
  });
  const found = new Sources().original(placeOf(outfile, '*19998+'));
  assert.equal(found.file, source);
  assert.equal(found.line, 3 * 19_998 + 2);
});

test('what changed after the recording is told, for each file once', (t) => {
  const { source, outfile, map } = bundle(t);
  // Later than now, so that when the files got there does not count, too.
  const recordedMs = LATER_MS;
  const before = new Date(recordedMs - 60_000);
  const after = new Date(recordedMs + 60_000);
  const wrong = [
    [source, 'its lines may have moved'],
    [outfile, 'places in it may be wrong'],
    [map, 'places by it may be wrong'],
  ];
  for (const [changed, meaning] of wrong) {
    for (const [file] of wrong) {
      utimesSync(file, before, file === changed ? after : before);
    }
    const sources = new Sources();
    const place = placeOf(outfile, MARK, { recordedMs });
    assertAtMark(sources.original(place), source);
    assertAtMark(sources.original(place), source);
    assert.deepEqual(sources.notes, [`${changed} was changed after it was recorded: ${meaning}`]);
  }
});

test('an older file that was put there after the recording is told', (t) => {
  const { source, outfile, map } = bundle(t);
  const recordedMs = Date.now() - 60_000;
  for (const file of [source, map, outfile]) utimesSync(file, 0, 0);
  const sources = new Sources();
  assertAtMark(sources.original(placeOf(outfile, MARK, { recordedMs })), source);
  const told = 'may have been put there after it was recorded';
  assert.deepEqual(sources.notes, [
    `${outfile} ${told}: places in it may be wrong`,
    `${map} ${told}: places by it may be wrong`,
    `${source} ${told}: its lines may have moved`,
  ]);
});

test('the last comment counts, and one in a string that is none does not', (t) => {
  const { source, outfile } = bundle(t);
  rewrite(
    outfile,
    (code) => `//# sourceMappingURL=gone.map\n${code}var a="sourceMappingURL=gone.map";\n`,
  );
  rewrite(`${outfile}.map`, (json) => {
    const map = JSON.parse(json);
    return JSON.stringify({ ...map, mappings: `;${map.mappings}` });
  });
  assertAtMark(new Sources().original(placeOf(outfile)), source);
});

test('notes without end are counted', (t) => {
  const folder = realpathSync(makeFolder(t));
  const sources = new Sources();
  for (let n = 0; n < 25; n += 1) {
    const file = join(folder, `${n}.js`);
    writeFileSync(file, 'JSON.stringify({})\n//# sourceMappingURL=gone.map\n');
    sources.original(placeOf(file));
  }
  assert.equal(sources.notes.length, 21);
  assert.equal(sources.notes.at(-1), '5 more notes on source maps');
});
