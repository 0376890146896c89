// How much survives each scavenge of what is dead, where V8 makes closures in the old generation:
// of the same objects with their closure in a literal and assigned to a property, and of ioredis's
// commands with and without (empty) hooks on promises.
//
//   node bench/boost/old-closures.mjs [--flags=--no-maglev] NODE...
//
// V8's parser has each function literal that is assigned to a property made old, so that the
// property can be taken for a constant. One that is dead is still there until the whole heap is
// collected, and all that it refers to survives the next scavenge. Where TurboFan has the function
// that makes it within another it is made young; hooks on promises keep it from the one that
// `new Promise` calls.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { medianInterval } from '../harness/statistics.mjs';
import { BASE_FLAGS } from './arms.mjs';

const { values, positionals: nodes } = parseArgs({
  options: { flags: { type: 'string', default: '' } },
  allowPositionals: true,
});
const KINDS = [['literal'], ['assigned'], ['commands'], ['commands', 'hooks']];
const SCRIPT = fileURLToPath(new URL('closures.cjs', import.meta.url));
/** The young generation fills up within these, and functions are not optimized yet. */
const FIRST = 8;
const BYTES_PER_KB = 1000;

/** Bytes that survived each scavenge, as `--trace-gc-nvp` tells them on Node 20 to 26. */
function survivors(node, kind) {
  const own = values.flags.split(' ').filter((flag) => flag !== '');
  const flags = [...BASE_FLAGS, '--trace-gc-nvp', ...own];
  const output = execFileSync(node, [...flags, SCRIPT, ...kind], { encoding: 'utf8' });
  return output
    .split('\n')
    .filter((line) => /gc"?[=:]"?s\b/.test(line))
    .map((line) => Number(/new_space_survived"?[=:](\d+)/.exec(line)?.[1]));
}

for (const node of nodes) {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
  for (const kind of KINDS) {
    const later = survivors(node, kind).slice(FIRST);
    const { median } = medianInterval(later);
    const told = `${later.length} scavenges, ${(median / BYTES_PER_KB).toFixed(1)} kB survive each`;
    process.stdout.write(`${version} ${kind.join(' with ')}: ${told}\n`);
  }
}
