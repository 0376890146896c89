// What is compared: the same service alone, under Bobtail, and under each tool people use today.
//
// Each tool runs as its documentation says, with its defaults, except that it exports to the local
// sink and asks no cloud's metadata service. An arm that cannot run on a Node version says why.
import { existsSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const preload = join(root, 'packages/bobtail/dist/agent/preload.js');

/** The folder of the newest tools for a Node version: some have left Node 20 behind. */
export function toolsFolder(major) {
  return fileURLToPath(new URL(major >= 22 ? './current' : './node20', import.meta.url));
}

function resolved(major, name) {
  return createRequire(join(toolsFolder(major), 'package.json')).resolve(name);
}

/** Name and version of an installed tool, for the record of a run. */
export function toolVersions(major) {
  const { dependencies } = createRequire(import.meta.url)(join(toolsFolder(major), 'package.json'));
  return Object.entries(dependencies).map(([name, version]) => `${name} ${version}`);
}

function bobtail(detail) {
  return ({ folder }) => ({
    nodeArgs: [],
    env: {
      NODE_OPTIONS: `--require "${preload}"`,
      BOBTAIL_DIR: folder,
      BOBTAIL_DETAIL: detail,
      BOBTAIL_MAX_BYTES: String(512 * 1024 * 1024),
    },
  });
}

/** The sensors of `boost`, and with `drive` what decides and moves a lever by them. */
function sensed(drive) {
  const agent = join(root, 'packages/bobtail/dist/agent/boost/preload.js');
  return ({ folder }) => ({
    nodeArgs: [],
    env: {
      NODE_OPTIONS: `--require "${agent}"`,
      BOBTAIL_BOOST_DIR: folder,
      BOBTAIL_BOOST: JSON.stringify(drive),
    },
  });
}

const KHZ = 4_000_000;
/** A lever whose base is its peak, so that it never slows anything: what deciding costs. */
const IDLE_LEVER = { actuator: 'emulated', baseKhz: KHZ, peakKhz: KHZ };
/** As `bobtail boost` has it. */
const BUDGET = 0.01;

/** The lower bound of everything that follows promises from JavaScript. */
function emptyHooks() {
  const script = fileURLToPath(new URL('./empty-promise-hooks.cjs', import.meta.url));
  return { nodeArgs: ['--require', script], env: {} };
}

function otel({ major, sinkPort }) {
  const register = resolved(major, '@opentelemetry/auto-instrumentations-node/register');
  return {
    nodeArgs: ['--require', register],
    env: {
      OTEL_SERVICE_NAME: 'bench',
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${sinkPort}`,
      OTEL_NODE_RESOURCE_DETECTORS: 'env,host,os,process',
    },
  };
}

function datadog(extra) {
  return ({ major, sinkPort }) => ({
    nodeArgs: ['--require', resolved(major, 'dd-trace/init')],
    env: {
      DD_SERVICE: 'bench',
      DD_TRACE_AGENT_URL: `http://127.0.0.1:${sinkPort}`,
      DD_TRACE_STARTUP_LOGS: 'false',
      ...extra,
    },
  });
}

function bubbleprof({ major, folder }) {
  const clinic = join(toolsFolder(major), 'node_modules', 'clinic', 'bin.js');
  if (!existsSync(clinic)) throw new Error(`no clinic at ${clinic}`);
  return {
    nodeArgs: [],
    env: { NO_INSIGHT: 'true', NO_UPDATE_NOTIFIER: '1' },
    // Clinic starts the service itself; its own process is not counted.
    wrap: [clinic, 'bubbleprof', '--collect-only', '--dest', folder, '--'],
  };
}

/**
 * Arm → what starts it, given `{major, folder, sinkPort}`. `off` is what the others are divided by,
 * `off2` the A/A control. `freezes`: works while idle, so it is stopped between its slices.
 * `loadShare`: gets this share of the load, since it could not keep up with all of it.
 */
export const ARMS = {
  off: { prepare: () => ({ nodeArgs: [], env: {} }) },
  off2: { prepare: () => ({ nodeArgs: [], env: {} }) },
  loop: { prepare: bobtail('loop') },
  full: { prepare: bobtail('full') },
  sense: { prepare: sensed(null) },
  boost: { prepare: sensed({ policy: 'combined', budget: BUDGET, ...IDLE_LEVER }) },
  hooks: { prepare: emptyHooks },
  'cpu-prof': {
    prepare: ({ folder }) => ({ nodeArgs: ['--cpu-prof', '--cpu-prof-dir', folder], env: {} }),
    freezes: true,
  },
  otel: { prepare: otel },
  'dd-trace': { prepare: datadog({}) },
  'dd-profile': { prepare: datadog({ DD_PROFILING_ENABLED: 'true' }), freezes: true },
  bubbleprof: { prepare: bubbleprof, loadShare: 0.1 },
};

/** How an arm is to be started; makes its folder below `scratch`. */
export function prepareArm(name, { major, scratch, sinkPort }) {
  const folder = join(scratch, name);
  mkdirSync(folder, { recursive: true });
  return {
    freezes: false,
    loadShare: 1,
    wrap: [],
    ...ARMS[name],
    ...ARMS[name].prepare({ major, folder, sinkPort }),
  };
}
