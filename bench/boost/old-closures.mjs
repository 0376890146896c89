// How much survives each scavenge of what is dead, where V8 makes closures in the old generation:
// of the same objects with their closure in a literal and assigned to a property, and of ioredis's
// commands with and without (empty) hooks on promises.
//
//   node bench/boost/old-closures.mjs [--flags=--no-maglev] NODE...
//
// V8's parser has each function literal that is assigned to a property made old, so that the
// property can be taken for a constant. One that is dead is still there until the whole heap is
// collected, and all that it refers to survives the next scavenge. TurboFan makes it young where it
// inlines the function that makes it; with hooks on promises it does not inline an executor into
// `new Promise`.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { quartiles } from '../harness/statistics.mjs';
import { flagsOf } from './arms.mjs';
import { collectionsOf } from './traced-gc.mjs';

const { values, positionals: nodes } = parseArgs({
  options: { flags: { type: 'string' } },
  allowPositionals: true,
});
if (nodes.length === 0) {
  process.stderr.write('usage: node bench/boost/old-closures.mjs [--flags=…] NODE...\n');
  process.exit(64);
}
const KINDS = [['literal'], ['assigned'], ['commands'], ['commands', 'hooks']];
const SCRIPT = fileURLToPath(new URL('closures.cjs', import.meta.url));
/** The young generation fills up within these, and functions are not optimized yet. */
const FIRST = 8;
const BYTES_PER_KB = 1000;

/** Bytes that survived each scavenge but the first ones. */
function survivors(node, kind) {
  const flags = [...flagsOf({ flags: values.flags }), '--trace-gc-nvp'];
  const output = execFileSync(node, [...flags, SCRIPT, ...kind], { encoding: 'utf8' });
  const scavenges = collectionsOf(output).filter(({ gc }) => gc === 's');
  assert.ok(scavenges.length > FIRST, `${node} ${kind}: ${scavenges.length} scavenges`);
  return scavenges.slice(FIRST).map((one) => Number(one.new_space_survived));
}

for (const node of nodes) {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
  for (const kind of KINDS) {
    const later = survivors(node, kind);
    const { median } = quartiles(later);
    const told = `${later.length} scavenges, ${(median / BYTES_PER_KB).toFixed(1)} kB survive`;
    const how = [version, values.flags, kind.join(' with ')].filter((word) => word !== undefined);
    process.stdout.write(`${how.join(' ')}: ${told} in the median\n`);
  }
}
