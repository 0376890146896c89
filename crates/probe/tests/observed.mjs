// Runs a scenario inside a real Node process under the probe, and reads what the probe wrote.
//
// BOBTAIL_TEST_NODES  the Nodes to observe, separated by colons (default: this one)
// BOBTAIL_PROBE  the built addon; BOBTAIL_DUMP the `dump` example of bobtail-trace

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtExample } from '../../../workloads/harness/built-example.mjs';

const folder = path.dirname(fileURLToPath(import.meta.url));
const target = process.env.CARGO_TARGET_DIR ?? path.join(folder, '../../../target');
/** The built addon. */
export const probe = process.env.BOBTAIL_PROBE ?? path.join(target, 'release/libbobtail_probe.so');
const dumper = process.env.BOBTAIL_DUMP ?? builtExample('dump');
export const nodes = (process.env.BOBTAIL_TEST_NODES ?? process.execPath).split(':');
/** Nothing takes longer. */
export const TIMEOUT_MS = 120_000;

/** A folder that is removed after the test. */
export function temporary(t) {
  const out = fs.mkdtempSync(path.join(os.tmpdir(), 'bobtail-probe-'));
  t.after(() => fs.rmSync(out, { recursive: true, force: true }));
  return out;
}

/** Starts a scenario of a script; `prefix` is a command that runs the Node, `stdout` spawn's. */
export function launch(node, out, name, { flags = [], rest = [], env = {}, ...how } = {}) {
  const { script = 'scenarios.cjs', prefix = [], stdout = 'pipe' } = how;
  const [command, ...args] = [...prefix, node, ...flags, path.join(folder, script), name, out];
  return spawn(command, [...args, ...rest], {
    env: { ...process.env, BOBTAIL_PROBE: probe, ...env },
    stdio: ['ignore', stdout, 'pipe'],
  });
}

/** Runs a scenario to its end; gives what it printed. */
export function run(node, out, name, how) {
  const child = launch(node, out, name, how);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data) => (stdout += data));
  child.stderr.on('data', (data) => (stderr += data));
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      if (code !== 0) reject(new Error(`${name}: code ${code} signal ${signal}\n${stderr}`));
      else resolve(JSON.parse(stdout.trim().split('\n').at(-1)));
    });
  });
}

/** The names of the traces in a folder. */
export const traces = (out) => fs.readdirSync(out).filter((file) => file.endsWith('.trace'));

/** Reads a trace into objects; checks what holds for every trace. */
export function read(file) {
  const text = execFileSync(dumper, [file], { encoding: 'utf8', maxBuffer: 2 ** 30 });
  const records = [];
  let last = 0;
  for (const line of text.split('\n')) {
    const [, at, type, fields] = line.match(/^(\d+|-) ([a-z-]+) ?(.*)$/) ?? [];
    if (!type) {
      assert.doesNotMatch(line, /^error/, line);
      continue;
    }
    const record = { at: Number(at), type, line };
    for (const [, key, value] of fields.matchAll(/([a-z-]+)=("(?:[^"\\]|\\.)*"|\S+)/g)) {
      record[key] = value.startsWith('"') ? JSON.parse(value) : value;
    }
    if (record.ready && record.ready !== '-') {
      const [ready, quality] = record.ready.split(':');
      record.readyNs = Number(ready);
      record.quality = quality;
      assert.ok(record.readyNs <= record.at, `ready after begin: ${line}`);
    }
    if (!Number.isNaN(record.at)) {
      assert.ok(record.at >= last || type === 'gc', `time runs backwards: ${line}`);
      last = Math.max(last, record.at);
    }
    records.push(record);
  }
  return { text, records, of: (type) => records.filter((record) => record.type === type) };
}

/** The one trace in the folder. */
export function only(out) {
  const files = traces(out);
  assert.equal(files.length, 1, files.join());
  return read(path.join(out, files[0]));
}

/** The loop events of a kind. */
export const begins = (trace, kind) =>
  trace.of('loop-begin').filter((record) => record.kind === kind);
