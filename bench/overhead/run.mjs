// Measures what recording costs: CPU time per request of the same server without the probe, with
// --detail loop and with full detail, and a second unprobed server as the A/A control.
//
// All arms run at the same time and idle; load goes to one at a time in short slices, in an order
// shuffled anew each round, so that a noisy neighbour hits every arm alike. CPU time comes from
// /proc/<pid>/task/*/schedstat (all threads, so the probe's own threads are counted), not from the
// clock of a machine that is shared.
//
//   node bench/overhead/run.mjs [--node PATH] [--rounds 12] [--slice-ms 500] [--path /] [--out DIR]
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { cpuNs } from '../harness/cpu.mjs';
import { hostText } from '../harness/host.mjs';
import { quantile, shuffled } from '../harness/statistics.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const preload = join(root, 'packages/bobtail/dist/agent/preload.js');
const { values } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    rounds: { type: 'string', default: '12' },
    'slice-ms': { type: 'string', default: '500' },
    path: { type: 'string', default: '/' },
    out: { type: 'string' },
  },
});
const ROUNDS = Number(values.rounds);
const SLICE_MS = Number(values['slice-ms']);
const CONNECTIONS = 24;
/** Arm → value of BOBTAIL_DETAIL, or null for no probe. `off` and `off2` are the A/A control. */
const ARMS = { off: null, off2: null, loop: 'loop', full: 'full' };

/** Starts one arm's server on core 0 and resolves with its port and process. */
async function startArm(name, detail, scratch) {
  const env = { ...process.env };
  if (detail !== null) {
    const folder = join(scratch, name);
    mkdirSync(folder);
    env.NODE_OPTIONS = `--require "${preload}"`;
    env.BOBTAIL_DIR = folder;
    env.BOBTAIL_DETAIL = detail;
    env.BOBTAIL_MAX_BYTES = String(512 * 1024 * 1024);
  }
  const args = ['-c', '0', values.node, join(root, 'bench/overhead/server.cjs')];
  const child = spawn('taskset', [...args, join(root, 'biome.json')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error(`arm ${name} ended before it listened`)));
    child.stdout.once('data', (chunk) => resolve(Number(String(chunk))));
  });
  return { name, child, port };
}

/** One slice of closed-loop load; returns CPU per request in µs and the number of requests. */
async function slice(arm, agent) {
  const cpuBefore = cpuNs(arm.child.pid);
  const endMs = performance.now() + SLICE_MS;
  let requests = 0;
  const one = () =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port: arm.port, path: values.path, agent };
      http
        .get(options, (response) => {
          response.resume();
          response.on('end', resolve);
        })
        .on('error', reject);
    });
  const connection = async () => {
    while (performance.now() < endMs) {
      await one();
      requests += 1;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return { cpuUs: (cpuNs(arm.child.pid) - cpuBefore) / 1000 / requests, requests };
}

function summarize(rows) {
  const byRound = new Map();
  for (const row of rows) byRound.set(row.round, [...(byRound.get(row.round) ?? []), row]);
  const lines = [
    '| arm | CPU per request, ratio to off: median [IQR] | µs per request |',
    '|---|---|---|',
  ];
  for (const name of Object.keys(ARMS)) {
    const ratios = [];
    const absolute = [];
    for (const group of byRound.values()) {
      const base = group.find((row) => row.arm === 'off').cpuUs;
      const own = group.find((row) => row.arm === name).cpuUs;
      ratios.push(own / base);
      absolute.push(own);
    }
    ratios.sort((a, b) => a - b);
    absolute.sort((a, b) => a - b);
    const ratio = [0.5, 0.25, 0.75].map((q) => quantile(ratios, q).toFixed(3));
    const us = quantile(absolute, 0.5).toFixed(1);
    lines.push(`| ${name} | ${ratio[0]} [${ratio[1]}–${ratio[2]}] | ${us} |`);
  }
  return lines.join('\n');
}

const scratch = mkdtempSync(join(tmpdir(), 'bobtail-overhead-'));
const arms = [];
try {
  for (const [name, detail] of Object.entries(ARMS))
    arms.push(await startArm(name, detail, scratch));
  const agents = new Map(
    arms.map((arm) => [arm, new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })]),
  );
  for (const arm of arms) for (let i = 0; i < 3; i += 1) await slice(arm, agents.get(arm));
  const rows = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const arm of shuffled(arms)) {
      rows.push({ round, arm: arm.name, ...(await slice(arm, agents.get(arm))) });
    }
    process.stderr.write(`round ${round + 1} of ${ROUNDS}\n`);
  }
  const csv = rows.map((row) => `${row.round},${row.arm},${row.cpuUs.toFixed(3)},${row.requests}`);
  const version = execFileSync(values.node, ['-p', 'process.version'], { encoding: 'utf8' }).trim();
  const host = hostText();
  const how = `path ${values.path}, ${ROUNDS} rounds of ${SLICE_MS} ms`;
  const table = `Node ${version}, ${how}, ${host}\n\n${summarize(rows)}\n`;
  process.stdout.write(table);
  if (values.out) {
    mkdirSync(values.out, { recursive: true });
    writeFileSync(
      join(values.out, 'raw.csv'),
      `round,arm,cpu_us_per_request,requests\n${csv.join('\n')}\n`,
    );
    writeFileSync(join(values.out, 'summary.md'), table);
  }
} finally {
  for (const arm of arms) arm.child.kill('SIGKILL');
  rmSync(scratch, { recursive: true, force: true });
}
