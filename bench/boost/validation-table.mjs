// The table of the paper's two validations (VEE'19, section 4.4), of what `validate.mjs` left.
//
//   node bench/boost/validation-table.mjs bench/runs/2026-11-26-boost-10
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { head, row } from '../harness/printed-table.mjs';
import { mean } from '../harness/statistics.mjs';

const PARTS = ['ioNs', 'queueNs', 'execNs', 'latencyNs'];
const NS_IN_MS = 1e6;

const [folder] = process.argv.slice(2);
const lines = readFileSync(join(folder, 'validation.jsonl'), 'utf8').trim().split('\n');
const cells = lines.map((line) => JSON.parse(line));

const ms = (ns) => (ns / NS_IN_MS).toFixed(2);

/** `0.17 ± 0.01`, in ms: the mean of rounds, and half of what they differ by at most. */
function spread(list) {
  if (list.every((one) => one === 0)) return '0';
  return `${ms(mean(list))} ± ${ms((Math.max(...list) - Math.min(...list)) / 2)}`;
}

/** A service at one frequency, whose latency at the base is `baseNs`. */
function tell(service, ghz, rounds, baseNs) {
  const of = (part) => rounds.map((round) => round[part]);
  const latencyNs = mean(of('latencyNs'));
  const share = `${((mean(of('ioNs')) / latencyNs) * 100).toFixed(0)} %`;
  const parts = PARTS.map((part) => spread(of(part)));
  row(service, Number(ghz).toFixed(1), ...parts, (latencyNs / baseNs).toFixed(2), share);
}

const parts = PARTS.map((part) => `${part === 'ioNs' ? 'I/O' : part.replace('Ns', '')}, ms`);
head('service', 'GHz', ...parts, 'by 2.6 GHz', 'I/O of it');
for (const service of new Set(cells.map((cell) => cell.service))) {
  const own = cells.filter((cell) => cell.service === service);
  const at = (ghz) => own.filter((cell) => cell.ghz === ghz);
  const frequencies = [...new Set(own.map(({ ghz }) => ghz))].sort();
  const baseNs = mean(at(frequencies[0]).map(({ latencyNs }) => latencyNs));
  for (const ghz of frequencies) tell(service, ghz, at(ghz), baseNs);
}
