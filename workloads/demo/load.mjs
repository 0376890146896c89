// The load on the demo service: four routes at a fixed rate, and the export every 2.5 seconds.
//
// Open loop: requests are due at seeded random moments (a Poisson process), whatever the answers
// take, and latency counts from when a request was due. autocannon's `-R` sends each second's
// share back to back, so that most of the tail would be the load's own bursts.
// Run by `bobtail record --on-port` with $PORT set.
import http from 'node:http';

const RATE_PER_S = Number(process.env.DEMO_RATE ?? 500);
const DURATION_S = Number(process.env.DEMO_SECONDS ?? 27);
const EXPORT_EVERY_S = 2.5;
const ROUTES = ['offers', 'products', 'cart', 'products', 'search'];

const agent = new http.Agent({ keepAlive: true });
const latenciesMs = [];

/** Numbers in 0 … 1, the same in every run (a linear congruential generator). */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** Every request of the run with the moment it is due, in order. */
function schedule() {
  const random = seeded(Number(process.env.SEED ?? 20_191_121));
  const due = [];
  let atS = 0;
  while (atS < DURATION_S) {
    const name = ROUTES[Math.floor(random() * ROUTES.length)];
    due.push({ atS, path: `/${name}/${Math.floor(random() * 200)}` });
    atS -= Math.log(1 - random()) / RATE_PER_S;
  }
  for (let exportS = EXPORT_EVERY_S; exportS < DURATION_S; exportS += EXPORT_EVERY_S) {
    due.push({ atS: exportS, path: '/export' });
  }
  return due.sort((a, b) => a.atS - b.atS);
}

function ask(path, dueMs) {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: process.env.PORT, path, agent };
    const request = http.get(options, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`${path}: status ${answer.statusCode}`));
      answer.resume().once('end', () => {
        latenciesMs.push(performance.now() - dueMs);
        resolve();
      });
    });
    request.once('error', reject);
  });
}

async function run(requests) {
  const startMs = performance.now();
  const answers = [];
  for (const { atS, path } of requests) {
    const dueMs = startMs + atS * 1000;
    const aheadMs = dueMs - performance.now();
    if (aheadMs > 0.5) await new Promise((resolve) => setTimeout(resolve, aheadMs));
    answers.push(ask(path, dueMs));
  }
  await Promise.all(answers);
}

function percentile(percent) {
  const index = Math.ceil((latenciesMs.length * percent) / 100) - 1;
  return `p${percent} ${latenciesMs[index].toFixed(1)} ms`;
}

await run(schedule());
agent.destroy();
latenciesMs.sort((a, b) => a - b);
process.stderr.write(
  `load: ${latenciesMs.length} answers at ${RATE_PER_S}/s; from when they were due: ` +
    `${[50, 99, 99.9].map(percentile).join(', ')}\n`,
);
