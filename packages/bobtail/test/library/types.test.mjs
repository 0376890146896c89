/** The library's types as each kind of TypeScript project sees them. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeFolder, PACKAGE } from '../cli/run-bobtail.mjs';

const ROOT = join(PACKAGE, '../..');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

const USES = `
export async function use(signal: AbortSignal): Promise<number> {
  const recording: Recording = await record({ command: ['node', 'x.js'], durationMs: 5, signal });
  const told: Report = await recording.report({ percentile: 99 });
  const moved: Diff = await diff('a', recording);
  const one: Explanation = await explain(await read('a'), { slowest: 3 });
  const outcomes: readonly GateOutcome[] = await check(recording, ['p99<5ms']);
  const page: Report = await writePage(recording, 'a.html', { percentile: 99, gates: ['p99<5ms'] });
  const both: Diff = await recording.writeDiffPage('b', 'b.html');
  const changes: readonly GateOutcome[] = await checkDiff('a', recording, ['p99<+5%']);
  const gates = [...(page.gates ?? []), ...(both.gates ?? []), ...changes].length;
  const low: number | null = moved.routes[0]!.percentiles[0]!.latency.lowNs;
  const predicted: WhatIf = await whatIf(recording, ['gc=0.7'], { percentile: 99 });
  const energy = predicted.scenarios.map((scenario: WhatIfOutcome) => scenario.policy?.energy ?? 1);
  const failed = outcomes.filter(({ outcome }) => outcome !== 'passed').length;
  return told.requests.count + one.segments.length + (low ?? 0) + failed + gates + energy.length;
}
export function codeOf(error: unknown): string | undefined {
  return error instanceof Failure ? error.code : undefined;
}
// @ts-expect-error: an option that there is not
export const misspelt = report('a', { percentil: 99 });
// @ts-expect-error: a command is needed
export const nothing = record({});
`;
const NAMES = 'check, checkDiff, diff, explain, Failure, read, record, report, whatIf, writePage';
const TYPES = 'Diff, Explanation, GateOutcome, Recording, Report, WhatIf, WhatIfOutcome'
  .split(', ')
  .map((name) => `type ${name}`)
  .join(', ');
const IMPORT = `import { ${NAMES}, ${TYPES} } from 'bobtail';\n${USES}`;

const PROJECTS = [
  ['an ES module', 'use.mts', IMPORT, { module: 'nodenext', moduleResolution: 'nodenext' }],
  ['a CommonJS module', 'use.cts', IMPORT, { module: 'nodenext', moduleResolution: 'nodenext' }],
  ['a bundler', 'use.ts', IMPORT, { module: 'esnext', moduleResolution: 'bundler' }],
  ['an old project', 'use.ts', IMPORT, { module: 'commonjs', moduleResolution: 'node10' }],
];

for (const [kind, file, source, options] of PROJECTS) {
  test(`${kind} has the types`, (t) => {
    const folder = makeFolder(t);
    mkdirSync(join(folder, 'node_modules'));
    symlinkSync(PACKAGE, join(folder, 'node_modules/bobtail'));
    symlinkSync(join(ROOT, 'node_modules/@types'), join(folder, 'node_modules/@types'));
    writeFileSync(join(folder, file), source);
    const compilerOptions = { ...options, strict: true, noEmit: true, target: 'es2022' };
    const config = { compilerOptions: { ...compilerOptions, types: ['node'] }, files: [file] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const { status, stdout } = spawnSync(process.execPath, [TSC, '-p', folder], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout);
  });
}
