/**
 * The Node binaries the tests run services with, and how a service is run under the agent.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readTrace } from './decode.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const preload = join(here, '../../dist/agent/preload.js');

const TIMEOUT_MS = 60_000;

/** Paths of Node binaries: `BOBTAIL_TEST_NODES`, separated by colons, or the running one. */
export const nodes = (process.env.BOBTAIL_TEST_NODES ?? process.execPath).split(':');

/** Runs a file of `apps/` to its end. With `record`, under the agent, into a fresh folder. */
export async function run(node, app, options = {}) {
  const service = start(node, app, options);
  const watchdog = setTimeout(() => service.child.kill('SIGKILL'), TIMEOUT_MS);
  const end = await service.ended;
  clearTimeout(watchdog);
  return end;
}

/**
 * Runs a server of `apps/` under the agent, calls `drive(port)` once it listens, then asks it to
 * quit. Resolves to the end of the process, as `run` does.
 */
export async function serve(node, app, drive, options = {}) {
  const service = start(node, app, options);
  const watchdog = setTimeout(() => service.child.kill('SIGKILL'), TIMEOUT_MS);
  try {
    const port = await listening(service);
    await drive(port);
    if (service.child.exitCode === null) await quit(port, options.quit);
    return await service.ended;
  } catch (error) {
    service.child.kill('SIGKILL');
    const { stderr } = await service.ended;
    throw new Error(`${app} under ${node}: ${error.message}\n${stderr}`, { cause: error });
  } finally {
    clearTimeout(watchdog);
  }
}

function start(node, app, { record = true, env = {}, flags = [], folder = fresh() } = {}) {
  const own = { ...process.env, ...env };
  delete own.NODE_TEST_CONTEXT;
  if (record) {
    own.BOBTAIL_DIR = folder;
    own.NODE_OPTIONS = `${own.NODE_OPTIONS ?? ''} --require "${preload}"`;
  }
  const child = spawn(node, [...flags, join(here, 'apps', app)], { env: own });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const ended = new Promise((done) => {
    child.on('close', (code, signal) => {
      done({ code, signal, stdout, stderr, folder, pid: child.pid });
    });
  });
  return { child, folder, ended };
}

const folders = [];
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function fresh() {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-agent-'));
  folders.push(folder);
  return folder;
}

async function listening({ child, folder }) {
  while (child.exitCode === null && child.signalCode === null) {
    const file = readdirSync(folder).find((name) => /^listening-\d+\.json$/.test(name));
    if (file !== undefined) return json(folder, file).port;
    await new Promise((done) => setTimeout(done, 10));
  }
  throw new Error('the server ended before it listened');
}

/** One request on a connection of its own; resolves to `{ status, body }`. */
export function get(port, path, { method = 'GET', body, headers, agent = false } = {}) {
  return new Promise((done, fail) => {
    const options = { host: '127.0.0.1', port, path, method, agent, headers };
    const request = http.request(options, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => done({ status: response.statusCode, body: text }));
    });
    request.on('error', fail);
    request.end(body);
  });
}

const quit = (port, custom) =>
  custom ? custom(port) : get(port, '/quit').catch((error) => `gone: ${error.code}`);

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

/**
 * The requests of a trace: `{ request, name, route, status, source, sink }`, in order. The route of
 * one that ended without a known route is its name.
 */
export function requests(trace) {
  const sinks = trace.records.filter((record) => record.type === 'sink');
  return trace.records
    .filter((record) => record.type === 'source')
    .map((source) => {
      const sink = sinks.find((record) => record.request === source.request);
      return {
        request: source.request,
        name: source.text,
        route: sink && (sink.text || source.text),
        status: sink?.status,
        source,
        sink,
      };
    });
}

/**
 * The events that caused `event`, nearest first: registrars of micro events, and of operations.
 * Stops where a loop event has no operation.
 */
export function causes(trace, event) {
  const opened = new Map();
  const operations = new Map();
  for (const record of trace.records) {
    if (record.type === 'micro' || record.type === 'loop-begin') opened.set(record.event, record);
    if (record.type === 'register') operations.set(record.op, record.owner);
  }
  const chain = [];
  for (let at = event; at !== 0 && at !== undefined && chain.length < 1000; ) {
    chain.push(at);
    const record = opened.get(at);
    at = record?.type === 'micro' ? record.registrar : operations.get(record?.op);
  }
  return chain;
}
