// Answers of `bobtail tune --json` as Markdown: every arm of the races, then the proof.
//
//   node bench/tune/table.mjs bench/runs/2026-11-21-tune/*.json
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { head, row } from '../harness/printed-table.mjs';

const times = (value) => (value === null ? '–' : `×${value.toFixed(2)}`);
const mib = (bytes) => `${Math.round(bytes / 2 ** 20)} MiB`;

function interval({ ratio, low, high }) {
  return low === null ? times(ratio) : `${times(ratio)} [${low.toFixed(2)}–${high.toFixed(2)}]`;
}

/** Collections of an arm in a round, on average: scavenges, and the time of all per request. */
function collections({ rounds }) {
  const all = rounds.flatMap(({ gc }) => gc);
  const scavenges = all.filter(({ kind }) => kind === 'scavenge');
  const pauses = scavenges.reduce((sum, one) => sum + one.pauses, 0) / rounds.length;
  const requests = rounds.reduce((sum, one) => sum + one.requests, 0);
  const totalNs = all.reduce((sum, one) => sum + one.totalNs, 0);
  return [pauses.toFixed(0), `${(totalNs / requests / 1e3).toFixed(0)} µs`];
}

function race({ name, arms }, percentile) {
  process.stdout.write(`\n${name === 'single' ? 'Single changes' : 'Combinations'}:\n\n`);
  const figures = [`p${percentile}`, 'CPU', 'memory', 'scavenges a round', 'GC per request'];
  head('arm', 'rounds', ...figures);
  for (const arm of arms) {
    const { ratios, rounds, out } = arm;
    const name = `\`${arm.name}\`${out === null ? '' : ` (out: ${out.of})`}`;
    if (ratios === null) {
      row(name, rounds.length, '–', '–', '–', '–', '–');
    } else {
      const cells = [ratios.tail, ratios.cpu, ratios.memory].map(times);
      row(name, rounds.length, ...cells, ...collections(arm));
    }
  }
}

function proved({ flags, verdict, reason, rounds, percentile, effect, control }) {
  process.stdout.write(`\nProof of \`${flags.join(' ')}\`, ${rounds} rounds`);
  if (percentile !== null) process.stdout.write(`, judged at p${percentile}`);
  process.stdout.write(`: **${verdict}** (${reason}).\n\n`);
  if (effect === null) return;
  row('figure', 'changed by unchanged', 'A/A');
  row('---', '---', '---');
  effect.percentiles.forEach((one, index) => {
    const told = one.ratio !== null && one.low !== null;
    if (told) row(`p${one.percentile}`, interval(one), interval(control.percentiles[index]));
  });
  for (const figure of ['cpuNsPerRequest', 'requestsPerS', 'peakRssBytes']) {
    row(figure, interval(effect[figure]), interval(control[figure]));
  }
}

for (const file of process.argv.slice(2)) {
  const answer = JSON.parse(readFileSync(file, 'utf8'));
  const { unchanged, memory, races, proof } = answer;
  process.stdout.write(`\n## ${basename(file, '.json')}\n\n`);
  process.stdout.write(`Node ${unchanged.node.slice(1)}, ${unchanged.requests} requests a round, `);
  process.stdout.write(
    `${mib(unchanged.peakRssBytes)} of ${mib(memory.bytes)} (${memory.source}).\n`,
  );
  for (const one of races) race(one, unchanged.percentile);
  if (proof === null) process.stdout.write('\nNothing was faster than the unchanged service.\n');
  else proved(proof);
}
