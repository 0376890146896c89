// Runs one planted server, with or without the recorder, and gathers what each side noted.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readSlices, sliceFlags } from '../../crates/probe/tests/v8-slices.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const workloads = dirname(here);
const dist = join(workloads, '..', 'packages', 'bobtail', 'dist');
const bobtail = join(dist, 'cli', 'main.js');
const library = join(dist, 'index.js');
const drive = join(here, 'drive.mjs');
const RECORD_MS_MAX = 60_000;

function linesOf(file) {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').trim().split('\n').filter(Boolean).map(JSON.parse);
}

/** The server's account of every request, joined with the client's. */
function plantedRequests(file) {
  const clients = new Map(linesOf(`${file}.client`).map((line) => [line.id, line]));
  const all = linesOf(file).map((line) => {
    const client = clients.get(line.id);
    return { ...line, marks: { ...client?.marks, ...line.marks }, counts: Boolean(client) };
  });
  for (const planted of all) planted.all = all.filter(({ counts }) => counts);
  return all;
}

function finished(command, args, options) {
  return new Promise((resolve, reject) => {
    execFile(command, args, { maxBuffer: 1 << 28, ...options }, (error, stdout, stderr) => {
      if (!error) return resolve({ stdout, stderr });
      error.message = `${[command, ...args].join(' ')}: ${error.code ?? error.signal}\n${stderr}`;
      return reject(error);
    });
  });
}

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Records `cause`'s `server` with the Node binary `node`, flags for Node and for the recorder
 * included; `use` gets what came of it.
 */
export async function recorded(run, use) {
  const { cause, server, node, environment, nodeFlags = [], recordFlags = [] } = run;
  const folder = mkdtempSync(join(tmpdir(), 'planted-recording-'));
  const out = join(folder, 'recording.bobtail');
  const file = join(folder, 'planted.jsonl');
  const env = { ...process.env, ...environment, PLANTED_FILE: file };
  const load = [process.execPath, drive, cause].map(quoted).join(' ');
  // What V8 itself tells of its work, where the cause asks for it by the categories.
  const traced = run.slices ? sliceFlags(folder, run.slices) : [];
  const target = [node, ...nodeFlags, ...traced, join(workloads, cause, server)];
  const quiet = ['--quiet', '--no-report', '--no-html'];
  const flags = [...quiet, ...recordFlags, '--out', out, '--on-port', load];
  const args = [bobtail, 'record', ...flags, '--', ...target];
  try {
    const { stdout } = await finished(process.execPath, args, { env, timeout: RECORD_MS_MAX });
    const planted = plantedRequests(file);
    const { report, explained } = await explain(out);
    const slices = run.slices ? readSlices(folder) : [];
    return await use({ folder: out, stdout, slices, planted, report, explained });
  } finally {
    if (!process.env.PLANTED_KEEP) rmSync(folder, { recursive: true, force: true });
    else process.stderr.write(`kept ${folder}\n`);
  }
}

/**
 * The report, and every recorded request, by its number in the recording. Read through the library,
 * which is quicker than a process for each; the slowest is asked for through the command line too.
 */
async function explain(out) {
  const { explainMany, report: reportOf } = await import(library);
  const report = await reportOf(out);
  assert.deepEqual(report.losses, {}, `facts were lost in ${out}`);
  const list = await explainMany(out, { all: true });
  assert.equal(list.length, report.requests.count);
  const args = [bobtail, 'explain', out, '--slowest', '1', '--json'];
  const { stdout } = await finished(process.execPath, args, { timeout: RECORD_MS_MAX });
  assert.deepEqual(JSON.parse(stdout), list[0], 'command line and library disagree');
  const explained = new Map(list.map((one) => [Number(one.id.split(':')[1]), one]));
  return { report, explained };
}

/** Runs the server without the recorder: shows that what is planted is there at all. */
export async function plain({ cause, server, node, environment, nodeFlags = [] }) {
  const folder = mkdtempSync(join(tmpdir(), 'planted-plain-'));
  const file = join(folder, 'planted.jsonl');
  const env = { ...process.env, ...environment, PLANTED_FILE: file };
  const options = { env, stdio: ['ignore', 'pipe', 'inherit'] };
  const child = spawn(node, [...nodeFlags, join(workloads, cause, server)], options);
  try {
    const port = await new Promise((resolve, reject) => {
      child.stdout.once('data', (line) => resolve(/^listening (.*)/m.exec(line)[1]));
      child.once('exit', (code) => reject(new Error(`${cause}/${server} ended with ${code}`)));
    });
    const load = { env: { ...env, PORT: port }, timeout: RECORD_MS_MAX };
    await finished(process.execPath, [drive, cause], load);
    return plantedRequests(file).filter(({ counts }) => counts);
  } finally {
    child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}
