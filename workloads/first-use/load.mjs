// A load of chosen paths at a fixed rate, for trying Bobtail as somebody who does not know it.
//
// Open loop, like that of the demo: requests are due at seeded random moments, whatever the
// answers take. Run by `bobtail record --on-port` with $PORT set:
//
//   node load.mjs [--rate 100] [--seconds 12] PATH=WEIGHT…
import http from 'node:http';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: {
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '12' },
  },
  allowPositionals: true,
});
const rate = Number(values.rate);
const seconds = Number(values.seconds);
const paths = positionals.map((text) => {
  const [path, weight] = text.split('=');
  return { path, weight: Number(weight ?? 1) };
});
if (!(rate > 0 && seconds > 0 && paths.length > 0 && paths.every(({ weight }) => weight > 0))) {
  throw new Error(`--rate and --seconds above 0, and PATH=WEIGHT: ${process.argv.slice(2)}`);
}

const agent = new http.Agent({ keepAlive: true });
const whole = paths.reduce((sum, { weight }) => sum + weight, 0);
let state = 20_191_121;

/** 0 … 1, the same in every run (a linear congruential generator). */
function random() {
  state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
  return state / 4_294_967_296;
}

function gapS() {
  return -Math.log(1 - random()) / rate;
}

function chosen() {
  let left = random() * whole;
  for (const { path, weight } of paths) {
    left -= weight;
    if (left < 0) return path;
  }
  return paths[0].path;
}

function ask(path) {
  return new Promise((resolve, reject) => {
    const request = http.get({ host: '127.0.0.1', port: process.env.PORT, path, agent });
    request.once('response', (answer) => answer.resume().once('end', resolve));
    request.once('error', reject);
  });
}

const startMs = performance.now();
const answers = [];
for (let atS = 0; atS < seconds; atS += gapS()) {
  const aheadMs = startMs + atS * 1000 - performance.now();
  if (aheadMs > 0.5) await new Promise((resolve) => setTimeout(resolve, aheadMs));
  answers.push(ask(chosen()));
}
await Promise.all(answers);
agent.destroy();
process.stderr.write(`load: ${answers.length} answers at ${rate}/s\n`);
