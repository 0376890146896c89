// Makes the CPU scarce for this process: by a quota of its own control group, as containers do.
//
// Where control groups may not be made, by a competitor that spins on the same CPU: to the loop
// thread that looks the same, it could run and does not. What was done is told, for the two differ.
'use strict';

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { plainEnvironment } = require('./environment.cjs');

const PERIOD_US = 20_000;
const QUOTA_US = 8_000;
const CONTROLLERS = ['/sys/fs/cgroup/cpu', '/sys/fs/cgroup/cpu,cpuacct', '/sys/fs/cgroup'];

/** A process that ends with this one, whose end closes its standard input. */
function companion(...args) {
  const child = spawn(process.execPath, [path.join(__dirname, 'companion.cjs'), ...args], {
    env: plainEnvironment(),
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  child.unref();
  child.stdin.unref();
}

function limit(group) {
  const set = (name, text) => fs.writeFileSync(path.join(group, name), String(text));
  if (fs.existsSync(path.join(group, 'cpu.max'))) set('cpu.max', `${QUOTA_US} ${PERIOD_US}`);
  else {
    set('cpu.cfs_period_us', PERIOD_US);
    set('cpu.cfs_quota_us', QUOTA_US);
  }
  set('cgroup.procs', process.pid);
}

/** Moves this process into a group with a quota; false where that is not permitted. */
function limitByQuota() {
  const name = `planted-${process.pid}`;
  for (const controller of CONTROLLERS) {
    const group = path.join(controller, name);
    try {
      fs.mkdirSync(group);
    } catch {
      continue;
    }
    try {
      // Before this process is in it: what ends the group must not be in it.
      companion('group', group);
      limit(group);
      return true;
    } catch {
      fs.rmdirSync(group);
    }
  }
  return false;
}

/** Shares one CPU with a process that wants all of it. */
function limitByCompetitor() {
  execFileSync('taskset', ['-a', '-c', '-p', '0', String(process.pid)], { stdio: 'ignore' });
  companion('spin');
}

/** @returns {'quota' | 'competitor'} what takes the CPU away */
function makeCpuScarce() {
  if (process.env.PLANTED_CPU !== 'competitor' && limitByQuota()) return 'quota';
  limitByCompetitor();
  return 'competitor';
}

module.exports = { makeCpuScarce };
