// The paper's two validations (VEE'19, section 4.4): the time of I/O does not depend on frequency,
// and total latency falls with it, the less the more of it is I/O.
//
//   node bench/boost/validate.mjs [--rounds 3] [--seconds 3] [--services cpu,redis,…]
//     [--seconds-max S] [--out DIR] [--scratch DIR]
//
// A recorded loop cannot be boosted, so another process holds the frequency of the servers' core
// (`boost --policy static:F` around a server that nobody asks) while the service is recorded; I/O
// is what `bobtail report` says it is. First all is recorded, which is what wants a quiet machine,
// then reported. A run goes on where the last one stopped. The rates are those of `run.mjs`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { startServices } from '../../workloads/harness/services.mjs';
import { LOAD_CORE, pin, SERVER_CORE } from '../harness/cpu.mjs';
import { SERVICES } from './arms.mjs';
import { Running } from './service.mjs';

const text = (fallback) => ({ type: 'string', default: fallback });
const { values } = parseArgs({
  options: {
    rounds: text('3'),
    seconds: text('3'),
    services: text(Object.keys(SERVICES).join(',')),
    'seconds-max': text('0'),
    node: text(join('node_modules', 'node24', 'bin', 'node')),
    out: text(join('bench', 'runs', `${new Date().toISOString().slice(0, 10)}-boost`)),
    scratch: text(join(tmpdir(), 'bobtail-bench-validate')),
  },
});
const here = fileURLToPath(new URL('.', import.meta.url));
const BOBTAIL = join(here, '../../packages/bobtail/dist/cli/main.js');
const FREQUENCIES = { 2.6: 'static:base', 3.3: 'static:3.3', 4: 'static:peak' };
const WARM_S = 2;

const seconds = Number(values.seconds);
const startMs = performance.now();
const isOverdue = () => {
  const secondsMax = Number(values['seconds-max']);
  return secondsMax > 0 && performance.now() - startMs > secondsMax * 1000;
};

/** Holds the frequency of the servers' core until it is stopped. */
function hold(ghz) {
  const lever = ['--actuator', 'emulated', '--cpu', String(SERVER_CORE)];
  const policy = ['--policy', FREQUENCIES[ghz], '--quiet'];
  const server = ['taskset', '-c', String(LOAD_CORE), process.execPath, join(here, 'idle.mjs')];
  const args = [BOBTAIL, 'boost', ...lever, ...policy, '--', ...server];
  return Running.start(args, { env: {}, core: LOAD_CORE });
}

function bobtail(args, env = {}) {
  const child = spawn(process.execPath, [BOBTAIL, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  const abandon = () => child.kill('SIGTERM');
  process.once('exit', abandon);
  return once(child, 'close').then(([code]) => {
    process.off('exit', abandon);
    if (code !== 0) throw new Error(`bobtail ${args[0]} ended with ${code}`);
    return Buffer.concat(chunks).toString();
  });
}

async function record(service, round, folder, environment) {
  const rates = JSON.parse(readFileSync(join(values.out, 'rates.json'), 'utf8'));
  const load = [process.execPath, join(here, 'load.mjs'), rates[service], WARM_S + seconds, round];
  const seed = String(round * 1000 + 7);
  const script = join(here, 'services', `${service}.cjs`);
  const command = ['taskset', '-c', String(SERVER_CORE), values.node, script];
  const how = ['--warmup', String(WARM_S), '--no-report', '--no-html', '--quiet'];
  const where = ['--out', `${folder}.part`, '--on-port', load.join(' ')];
  rmSync(`${folder}.part`, { recursive: true, force: true });
  await bobtail(['record', ...how, ...where, '--', ...command], { ...environment, SEED: seed });
  renameSync(`${folder}.part`, folder);
}

/** Means over all requests of a recording. */
async function report(folder) {
  const answer = JSON.parse(await bobtail(['report', folder, '--json']));
  // The rows of all routes together; their own rows follow.
  const breakdown = answer.breakdown.filter(({ route }) => route === '*');
  const sum = (figure) => breakdown.reduce((all, row) => all + row.count * row[figure], 0);
  const requests = breakdown.reduce((all, { count }) => all + count, 0);
  const [latencyNs, ioNs, queueNs, execNs] = ['latencyNs', 'ioNs', 'queueNs', 'execNs'].map(
    (figure) => Math.round(sum(figure) / requests),
  );
  return { requests, latencyNs, ioNs, queueNs, execNs };
}

const services = values.services.split(',');
const cells = Array.from({ length: Number(values.rounds) }, (_, index) => index + 1).flatMap(
  (round) => {
    const order = shuffled(Object.keys(FREQUENCIES), seededRandom(round));
    return order.map((ghz) => ({ round, ghz }));
  },
);
const folderOf = (service, { round, ghz }) => join(values.scratch, `${service}-${ghz}-${round}`);

/** Records what is not there yet; false when time is up. */
async function recordAll(environment) {
  for (const cell of cells) {
    const left = services.filter((service) => !existsSync(folderOf(service, cell)));
    if (left.length === 0) continue;
    if (isOverdue()) return false;
    const holder = await hold(cell.ghz);
    try {
      for (const service of left) {
        if (isOverdue()) return false;
        await record(service, cell.round, folderOf(service, cell), environment);
        process.stderr.write(`${service} · round ${cell.round} · ${cell.ghz} GHz\n`);
      }
    } finally {
      await holder.stop();
    }
  }
  return true;
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
pin(process.pid, LOAD_CORE);
mkdirSync(values.scratch, { recursive: true });
const needs = [...new Set(services.flatMap((name) => SERVICES[name].needs))];
const databases = await startServices(needs);
let isComplete = false;
try {
  isComplete = await recordAll(databases.environment);
} finally {
  await databases.stop();
}
if (isComplete) {
  const results = [];
  for (const service of services) {
    for (const cell of cells) {
      results.push({ service, ...cell, ...(await report(folderOf(service, cell))) });
    }
  }
  const lines = results.map((result) => JSON.stringify(result));
  writeFileSync(join(values.out, 'validation.jsonl'), `${lines.join('\n')}\n`);
}
