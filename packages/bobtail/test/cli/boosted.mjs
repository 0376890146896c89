/** A boosted service for tests of levers: where it may be raised, and who has it in its hand. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../../../workloads/harness/alive.mjs';
import { fixture } from './recordings.mjs';
import { MAIN, makeFolder } from './run-bobtail.mjs';
import { assertValid } from './schemas.mjs';

const CHURN = fixture('churn.mjs');
const GROUPS = '/sys/fs/cgroup/cpu';
const CPUFREQ = 'sys/devices/system/cpu/cpufreq';
/** Only a test that fails waits so long. */
const PATIENCE_MS = 30_000;

/** Of the policies of `makeTree`. */
export const BASE = '800000';
export const PEAK = '4000000';

/** Waits until `look()` gives something true, and gives that. */
export async function until(what, look) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    assert.ok(Date.now() < deadline, `never: ${what}`);
    await sleep(2);
  }
}

/** The text of a setting. */
export function read(path) {
  return readFileSync(path, 'utf8').trim();
}

export { isAlive };

function sessionOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return Number(fields[3]);
}

/** A port that was free a moment ago, for what must all be given the same. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return String(port);
}

/** The parent of a process. */
export function parentOf(pid) {
  return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

/** Of a machine whose clocks can be set, not only bounded. */
export const USERSPACE = {
  scaling_available_governors: 'performance powersave userspace schedutil',
  scaling_setspeed: '<unsupported>',
};

/**
 * Machines as they stand in `/sys`: policies by the CPUs that share one, and settings that are
 * other than those of most.
 */
export function makeTree(folder, policies = [[0], [1]], others = {}) {
  const put = (path, text) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), `${text}\n`);
  };
  const cpus = policies.flat();
  put('sys/devices/system/cpu/online', `0-${cpus.length - 1}`);
  for (const cpu of cpus) {
    put(`sys/devices/system/cpu/cpu${cpu}/topology/thread_siblings_list`, cpu);
  }
  for (const shared of policies) {
    const settings = {
      related_cpus: shared.join(' '),
      scaling_driver: 'acpi-cpufreq',
      scaling_available_governors: 'performance powersave schedutil',
      scaling_governor: 'schedutil',
      scaling_min_freq: BASE,
      scaling_cur_freq: BASE,
      scaling_max_freq: PEAK,
      cpuinfo_min_freq: BASE,
      cpuinfo_max_freq: PEAK,
      cpuinfo_transition_latency: 10_000,
      ...others,
    };
    for (const [name, value] of Object.entries(settings)) {
      put(`${CPUFREQ}/policy${shared[0]}/${name}`, value);
    }
  }
  const min = (policy) => join(folder, CPUFREQ, `policy${policy}`, 'scaling_min_freq');
  return { root: folder, min, khz: (policy = 0) => read(min(policy)) };
}

/** A group of this machine with a quota of 30 ms in each 100 ms. */
export function makeGroup(t, name) {
  const folder = join(GROUPS, `bobtail-test-${process.pid}-${name}`);
  mkdirSync(folder);
  const remove = () =>
    until('the group is empty', () => {
      try {
        rmdirSync(folder);
        return true;
      } catch (error) {
        if (error.code === 'ENOENT') return true;
        assert.equal(error.code, 'EBUSY');
        return false;
      }
    });
  t.after(remove);
  writeFileSync(join(folder, 'cpu.cfs_quota_us'), '30000');
  return {
    tasks: join(folder, 'tasks'),
    quota: () => read(join(folder, 'cpu.cfs_quota_us')),
    burst: () => read(join(folder, 'cpu.cfs_burst_us')),
    pids: () => read(join(folder, 'cgroup.procs')).split('\n').map(Number),
  };
}

/**
 * A boosted service that listens, in a group if there is one; `command` goes before the Node, and
 * `script` is what it runs.
 */
export async function startBoosted(
  t,
  { args, node = process.execPath, command = [], group, script = [CHURN], env = {} },
) {
  const cwd = makeFolder(t);
  const all = [MAIN, 'boost', '--out', 'boost.json', ...args, '--', ...command, node, ...script];
  const enter = group === undefined ? '' : `echo $$ > ${group.tasks};`;
  const child = spawn('sh', ['-c', `${enter} exec "$0" "$@"`, process.execPath, ...all], {
    cwd,
    env: { ...process.env, NO_COLOR: '1', TMPDIR: cwd, BOBTAIL_RUN_DIR: cwd, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const seen = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) {
    child[name].setEncoding('utf8').on('data', (text) => {
      seen[name] += text;
    });
  }
  const ended = new Promise((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...seen }));
  });
  let session;
  t.after(async () => {
    // The service has a session of its own, with all that it started.
    for (const pid of [...childrenOf(child.pid), session]) killGroup(pid);
    child.kill('SIGKILL');
    await ended;
  });
  const [, port] = await until('the service listens', () => {
    assert.equal(child.exitCode, null, JSON.stringify(seen));
    return /listening (\d+)/.exec(seen.stdout);
  });
  const folder = () => {
    const name = readdirSync(cwd).find((one) => one.startsWith('bobtail-boost-'));
    return name === undefined ? undefined : join(cwd, name);
  };
  const known = folder();
  const filesNow = () => (existsSync(known) ? readdirSync(known) : []);
  const driven = new Set();
  // Also those that have ended, whose files do not stay.
  const drivers = () => {
    for (const name of filesNow()) {
      const pid = /^driver-(\d+)-\d+\.json$/.exec(name)?.[1];
      if (pid !== undefined) driven.add(Number(pid));
    }
    return [...driven];
  };
  const pids = await until('a process tells what it drives', () => {
    const list = drivers();
    return list.length > 0 && list;
  });
  session = sessionOf(pids[0]);
  const keeper = keeperOf(known);
  const listening = () => seen.stdout.split('listening ').length - 1;
  const summary = () => {
    const told = JSON.parse(readFileSync(join(cwd, 'boost.json'), 'utf8'));
    assertValid('boost', told);
    return told;
  };
  const processes = { child, ended, drivers, filesNow, listening, pids, keeper };
  return { ...processes, cwd, folder, port: Number(port), summary, seen };
}

function childrenOf(pid) {
  const path = `/proc/${pid}/task/${pid}/children`;
  return existsSync(path) ? read(path).split(' ').filter(Boolean).map(Number) : [];
}

function killGroup(pid) {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // All of it has ended, as it should.
    assert.equal(error.code, 'ESRCH');
  }
}

/** The bobtaild that has its things in a folder. */
export function keeperOf(folder) {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    let words = [];
    try {
      words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
    } catch {
      // It has ended meanwhile.
    }
    if (words.includes('--keep') && words.includes(folder)) return Number(pid);
  }
  return undefined;
}
