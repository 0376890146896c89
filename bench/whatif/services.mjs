// What is recorded for Table 7: the four services of bench/boost, a catalogue, planted causes, the
// demo, and Etherpad, each under its open load.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { etherpad } from '../../workloads/etherpad/setup.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const FIXTURES = join(root, 'packages/bobtail/test/cli/fixtures');
const LOAD = join(root, 'bench/whatif/load.mjs');

/** Of `SECONDS` the first seconds are warm-up. */
export const SECONDS = 27;
export const WARMUP_S = 4;

const load = (mix, ratePerS) => (seed) => [LOAD, mix, ratePerS, SECONDS, seed];

/** One of the services of bench/boost, or with their work. */
function application(name, ratePerS, needs = []) {
  return withTheirWork(join(root, 'bench/boost/services', `${name}.cjs`), ratePerS, needs);
}

function withTheirWork(script, ratePerS, needs = []) {
  const command = (node) => [node, script];
  return { needs, command, load: load('application', ratePerS) };
}

const blocks = (ratePerS) => withTheirWork(join(root, 'bench/whatif/blocking.cjs'), ratePerS);

/** Requests of a route of whatif-service among others that cost nothing. */
function planted(ratePerS, mix, words = []) {
  const command = (node) => [node, join(FIXTURES, 'whatif-service.cjs'), ...words];
  const script = join(FIXTURES, 'whatif-load.mjs');
  const count = ratePerS * SECONDS;
  return { needs: [], command, load: () => [script, 'open', count, ratePerS, ...mix] };
}

const often = (route, times) => Array.from({ length: times }, () => route);

/** By name only. */
const OTHERS = {
  // As busy at the base as Combined and deadline were compared live at.
  'cpu-4500': application('cpu', 4500),
  // Of which the requests that block the loop are nearly half of all work.
  'blocks-600': blocks(600),
  'blocks-1000': blocks(1000),
  'blocks-1500': blocks(1500),
  'blocks-2600': blocks(2600),
  'blocks-3400': blocks(3400),
};

/** What is recorded where no services are named. */
export const SERVICES = {
  cpu: application('cpu', 5000),
  redis: application('redis', 3500, ['redis']),
  catalogue: {
    needs: [],
    command: (node) => [node, join(root, 'bench/tune/catalogue.cjs')],
    load: load('catalogue', 900),
  },
  blocking: planted(900, ['hog', ...often('up', 20), ...often('x', 79)], ['busy=8']),
  disk: application('disk', 3000),
  postgres: application('postgres', 3500, ['postgres']),
  collections: planted(900, ['churn', 'x', 'up']),
  demo: {
    needs: [],
    command: (node) => [node, join(root, 'workloads/demo/server.cjs')],
    load: () => [join(root, 'workloads/demo/load.mjs')],
    env: { DEMO_RATE: '700', DEMO_SECONDS: String(SECONDS) },
  },
  etherpad: {
    needs: [],
    command: (node) => etherpad(node).command,
    folder: (node) => etherpad(node).folder,
    load: () => [join(root, 'workloads/etherpad/load.mjs')],
    // Its check for updates asks a server on the internet: a proxy that is not there stops that.
    env: {
      ETHERPAD_RATE: '90',
      ETHERPAD_SECONDS: String(SECONDS),
      NODE_ENV: 'production',
      https_proxy: 'http://127.0.0.1:9',
    },
  },
};

/** The service of this name. Throws where there is none. */
export function serviceNamed(name) {
  const all = { ...SERVICES, ...OTHERS };
  if (all[name] === undefined) throw new Error(`no service ${name}; there are ${Object.keys(all)}`);
  return all[name];
}
