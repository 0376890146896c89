// Is what `bobtail whatif` predicts what comes? A component of a live service is changed by a known
// factor, between two recordings.
//
//   node bench/whatif/run.mjs --out DIR [--rounds 2] [--node NODE] [--seconds-max 40]
//     [--scratch DIR]
//
// Each recording is a fresh service under the same open load. `again` repeats `first`, so that it
// is known what two recordings of the same differ by. One is made again where the host took time
// while most of its requests came. Recordings are kept in `--scratch`, so a
// run that was cut off goes on; `node bench/whatif/tables.mjs DIR` prints the comparison.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bobtail, meansOf, recordWhole, withoutRoot } from '../harness/bobtail.mjs';
import { CELLS, INJECTIONS } from './cells.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FIXTURES = join(root, 'packages/bobtail/test/cli/fixtures');

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    rounds: { type: 'string', default: '2' },
    node: { type: 'string', default: join(root, 'node_modules/node24/bin/node') },
    'seconds-max': { type: 'string', default: '3600' },
    scratch: { type: 'string', default: join(tmpdir(), 'bobtail-bench-whatif') },
  },
});
if (values.out === undefined) {
  process.stderr.write('usage: node bench/whatif/run.mjs --out DIR [--rounds N] [--node NODE]\n');
  process.exit(64);
}

/** A recording that the host spoiled is made again, so often at most. */
const TRIALS_MAX = 6;
/** As `whatif` says it of a recording of which it could leave nothing out. */
const SPOILED = /came while the host took time .* too many to leave out/;

const recordingOf = (round, name) => join(values.scratch, `${round}-${name}.bobtail`);

function record(out, { service, load, env }) {
  const words = [process.execPath, join(FIXTURES, 'whatif-load.mjs'), 'open', ...load];
  // A path may have spaces in it.
  const onPort = words.map((word) => `'${word}'`).join(' ');
  const command = [values.node, join(FIXTURES, 'whatif-service.cjs'), ...service];
  return recordWhole(out, ['--warmup', '1', '--on-port', onPort], command, {
    env: { ...process.env, ...env },
  });
}

/**
 * Again while the host took time from most of it; the last as it is. It is at `out` once it was
 * looked at, so that a run that was cut off before does not go on with one that is spoiled. False
 * where time is up.
 */
async function recordCalm(out, cell, endMs) {
  const trial = `${out}.trial`;
  for (let trials = 1; ; trials += 1) {
    if (performance.now() + cell.seconds * 1000 > endMs) return false;
    rmSync(trial, { recursive: true, force: true });
    await record(trial, cell);
    const { notes } = JSON.parse(await bobtail(['whatif', trial, '--json', '--tail', '50']));
    if (trials < TRIALS_MAX && notes.some((note) => SPOILED.test(note))) continue;
    renameSync(trial, out);
    return true;
  }
}

/** A change as `--set` takes it. */
async function changeOf({ component, factor, route, addedMs, from }, round) {
  if (route === undefined) return `${component}=${factor}`;
  const { execNs } = await meansOf(recordingOf(round, from), (one) => one.endsWith(route));
  return `${component}=${(1 + (addedMs * 1e6) / execNs).toFixed(3)}`;
}

/** What a cell was like, and what the changes would bring that are predicted from it. */
async function answer(round, name) {
  const changes = INJECTIONS.filter(({ from }) => from === name);
  const sets = await Promise.all(changes.map((one) => changeOf(one, round)));
  const options = sets.flatMap((one) => ['--set', one]);
  const args = ['whatif', recordingOf(round, name), '--json', '--tail', '99', ...options];
  return withoutRoot(JSON.parse(await bobtail(args)));
}

for (const folder of [values.out, values.scratch]) mkdirSync(folder, { recursive: true });
const version = execFileSync(values.node, ['--version'], { encoding: 'utf8' }).trim();
const about = { node: version, cpus: availableParallelism(), injections: INJECTIONS, cells: CELLS };
writeFileSync(join(values.out, 'about.json'), `${JSON.stringify(about, null, 2)}\n`);
const endMs = performance.now() + Number(values['seconds-max']) * 1000;
for (let round = 1; round <= Number(values.rounds); round++) {
  const names = Object.keys(CELLS);
  const missing = names.filter((name) => !existsSync(recordingOf(round, name)));
  if (names.every((name) => existsSync(join(values.out, `${round}-${name}.json`)))) continue;
  for (const name of missing) {
    if (!(await recordCalm(recordingOf(round, name), CELLS[name], endMs))) process.exit();
  }
  for (const name of names) {
    const file = join(values.out, `${round}-${name}.json`);
    writeFileSync(file, `${JSON.stringify(await answer(round, name), null, 2)}\n`);
    process.stdout.write(`${file}\n`);
  }
  for (const name of names) rmSync(recordingOf(round, name), { recursive: true });
}
