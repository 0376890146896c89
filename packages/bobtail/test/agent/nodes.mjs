/**
 * The Node binaries the tests run services with, and how a service is run under the agent.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTrace } from './decode.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const preload = join(here, '../../dist/agent/preload.js');

/** Paths of Node binaries: `BOBTAIL_TEST_NODES`, separated by colons, or the running one. */
export const nodes = (process.env.BOBTAIL_TEST_NODES ?? process.execPath).split(':');

/** Runs a file of `apps/` to its end. With `record`, under the agent, into a fresh folder. */
export async function run(node, app, { record = true, args = [], env = {}, flags = [] } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-agent-'));
  const own = { ...process.env, ...env, NODE_OPTIONS: '' };
  delete own.NODE_TEST_CONTEXT;
  if (record) {
    own.BOBTAIL_DIR = folder;
    own.NODE_OPTIONS = `--require "${preload}"`;
  }
  const child = spawn(node, [...flags, join(here, 'apps', app), ...args], { env: own });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const watchdog = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const [code, signal] = await new Promise((done) => child.on('close', (...end) => done(end)));
  clearTimeout(watchdog);
  return { code, signal, stdout, stderr, folder, pid: child.pid };
}

/** All traces of a recording folder. */
export function traces(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.trace'))
    .map((name) => readTrace(join(folder, name)));
}

/** A JSON file of a recording folder. */
export function json(folder, name) {
  return JSON.parse(readFileSync(join(folder, name), 'utf8'));
}

/** The requests of a trace: `{ request, name, route, status, source, sink }`, in order. */
export function requests(trace) {
  const sinks = trace.records.filter((record) => record.type === 'sink');
  return trace.records
    .filter((record) => record.type === 'source')
    .map((source) => {
      const sink = sinks.find((record) => record.request === source.request);
      return {
        request: source.request,
        name: source.text,
        route: sink?.text,
        status: sink?.status,
        source,
        sink,
      };
    });
}
