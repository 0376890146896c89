/** A recording that is exported, and what Bobtail's own answers say about it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';
import { PACKAGE, runBobtail } from './run-bobtail.mjs';

const FIXTURES = new URL('./fixtures/', import.meta.url).pathname;
const PROTOS = new URL('./protos/Cargo.toml', import.meta.url).pathname;

export const {
  report: analyzeReport,
  explainMany: analyzeRequests,
  exportRecording,
  Failure,
} = createRequire(import.meta.url)(join(PACKAGE, 'dist/index.js'));

/** Records `mixed.mjs` under its load; `end()` removes the folder. */
export async function recordMixed(requests) {
  const home = mkdtempSync(join(tmpdir(), 'bobtail-export-'));
  const [server, load] = ['mixed.mjs', 'mixed-load.mjs'].map((name) => join(FIXTURES, name));
  const onPort = `"${process.execPath}" "${load}" ${requests}`;
  const args = ['record', '--no-report', '--on-port', onPort, '--', process.execPath, server];
  const { code, stderr } = await runBobtail(args, { cwd: home });
  assert.equal(code, 0, stderr);
  return {
    home,
    folder: join(home, 'recording.bobtail'),
    end: () => rmSync(home, { recursive: true, force: true }),
  };
}

let metadata;

/** The schema that others published: a file below the folder of a package of the registry. */
export function publishedSchema(packageName, folder, file) {
  const args = ['metadata', '--format-version=1', '--locked', '--manifest-path', PROTOS];
  metadata ??= JSON.parse(execFileSync('cargo', args, { maxBuffer: 2 ** 26, stdio: 'pipe' }));
  const found = metadata.packages.find((one) => one.name === packageName);
  const root = new protobuf.Root();
  root.resolvePath = (_, path) => join(dirname(found.manifest_path), folder, path);
  return root.loadSync(file);
}

/** `run.json` of a recording. */
export function readRunFile(folder) {
  return JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8'));
}
