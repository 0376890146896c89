// Kills clients while they boost, and bobtaild itself, many times, and looks whether a lever stays
// raised and how long it stood; then measures from a decision to the lever.
//
//   cargo build --release -p bobtail-daemon
//   node bench/bobtaild/run.mjs --out DIR [--bin target/release] [--clients 1000]
//     [--daemons 200] [--rounds 5000]
//
// On a tree of files in /dev/shm, since few machines that run tests have a real lever; what a real
// driver takes for a change comes on top. Exits with 1 when a lever stayed raised.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { kernelVersion } from '../harness/host.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    bin: { type: 'string', default: join(root, 'target/release') },
    clients: { type: 'string', default: '1000' },
    daemons: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '5000' },
  },
});
if (!values.out) throw new Error('--out DIR is needed');

const BASE = '800000';
const LEVER = 'cpufreq-min-max';
/** A lever that is up for so long after its owner's end has been left raised. */
const LEFT_MS = 30_000;
const site = mkdtempSync('/dev/shm/bobtaild-');
const policy = join(site, 'sys/devices/system/cpu/cpufreq/policy0');
const knob = join(policy, 'scaling_min_freq');
const socket = join(site, 'bobtaild.sock');
const config = join(site, 'bobtaild.toml');

/** A machine of one CPU, 0.8 to 4 GHz. */
function makeTree() {
  const topology = join(site, 'sys/devices/system/cpu/cpu0/topology');
  mkdirSync(topology, { recursive: true });
  mkdirSync(policy, { recursive: true });
  writeFileSync(join(site, 'sys/devices/system/cpu/online'), '0\n');
  writeFileSync(join(topology, 'thread_siblings_list'), '0\n');
  const files = {
    related_cpus: '0',
    scaling_driver: 'acpi-cpufreq',
    scaling_governor: 'schedutil',
    scaling_available_governors: 'userspace schedutil',
    cpuinfo_transition_latency: '10000',
    cpuinfo_min_freq: BASE,
    cpuinfo_max_freq: '4000000',
    scaling_min_freq: BASE,
    scaling_max_freq: '4000000',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(policy, name), `${text}\n`);
  const lines = [
    `socket = "${socket}"`,
    `journal = "${join(site, 'journal.json')}"`,
    'heartbeat_timeout_ms = 30000',
    'requests_per_second = 1000000',
    '[[allow]]',
    `users = [${process.getuid()}]`,
    `levers = ["${LEVER}"]`,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`, { mode: 0o644 });
}

const isBase = () => readFileSync(knob, 'utf8').trim() === BASE;

async function startDaemon() {
  const args = ['--config', config, '--root', site];
  const child = spawn(join(values.bin, 'bobtaild'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface(child.stderr)) {
    if (line.includes('listens')) break;
  }
  child.stderr.resume();
  return child;
}

/** A process that holds the lever at its peak; it does when this returns. */
async function startHolder() {
  const child = spawn(join(values.bin, 'bobtaild-ask'), [socket, 'hold', LEVER, '0', 'peak'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  for await (const line of createInterface(child.stdout)) {
    if (line.startsWith('granted')) break;
  }
  if (isBase()) throw new Error('granted, and not raised');
  return child;
}

/** Kills it; how long the lever stood after that, in ms, or null when it was left raised. */
async function killAndWait(child) {
  const ended = once(child, 'exit');
  const killedMs = performance.now();
  child.kill('SIGKILL');
  let restoredMs = null;
  while (restoredMs === null && performance.now() - killedMs < LEFT_MS) {
    if (isBase()) restoredMs = performance.now() - killedMs;
    else await sleep(0);
  }
  await ended;
  return restoredMs;
}

function summary(times) {
  const left = times.filter((time) => time === null).length;
  const sorted = times.filter((time) => time !== null).sort((a, b) => a - b);
  const at = (share) => Number(sorted[Math.floor((sorted.length - 1) * share)]?.toFixed(3));
  return { kills: times.length, leftRaised: left, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
}

async function killClients(count) {
  const daemon = await startDaemon();
  const times = [];
  for (let kill = 0; kill < count; kill += 1) times.push(await killAndWait(await startHolder()));
  const ended = once(daemon, 'exit');
  daemon.kill('SIGTERM');
  await ended;
  return times;
}

async function killDaemons(count) {
  const times = [];
  for (let kill = 0; kill < count; kill += 1) {
    const daemon = await startDaemon();
    const holder = await startHolder();
    times.push(await killAndWait(daemon));
    holder.kill('SIGKILL');
  }
  return times;
}

async function measure(rounds) {
  const daemon = await startDaemon();
  const args = [socket, 'measure', LEVER, '0', String(rounds)];
  const told = execFileSync(join(values.bin, 'bobtaild-ask'), args, { encoding: 'utf8' });
  const ended = once(daemon, 'exit');
  daemon.kill('SIGTERM');
  await ended;
  return told.trim().split('\n');
}

if (!existsSync(join(values.bin, 'bobtaild'))) throw new Error(`no bobtaild in ${values.bin}`);
makeTree();
try {
  const clients = await killClients(Number(values.clients));
  const daemons = await killDaemons(Number(values.daemons));
  const result = {
    machine: { cpu: cpus()[0]?.model, cpus: cpus().length, kernel: kernelVersion() },
    clientsKilled: summary(clients),
    daemonsKilled: summary(daemons),
    latency: await measure(Number(values.rounds)),
  };
  mkdirSync(values.out, { recursive: true });
  writeFileSync(join(values.out, 'summary.json'), `${JSON.stringify(result, null, 2)}\n`);
  const raw = (times) => `${times.map((time) => time?.toFixed(3) ?? 'left raised').join('\n')}\n`;
  writeFileSync(join(values.out, 'clients-killed-ms.txt'), raw(clients));
  writeFileSync(join(values.out, 'daemons-killed-ms.txt'), raw(daemons));
  process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
  const left = result.clientsKilled.leftRaised + result.daemonsKilled.leftRaised;
  process.exitCode = left === 0 ? 0 : 1;
} finally {
  rmSync(site, { recursive: true, force: true });
}
