/** Recordings of the shop, and their pages. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from '../../bobtail/test/cli/load.mjs';
import { nodes } from '../../bobtail/test/cli/nodes.mjs';
import { reportOf, startRecording } from '../../bobtail/test/cli/recordings.mjs';
import { runBobtail } from '../../bobtail/test/cli/run-bobtail.mjs';

export const SHOP = new URL('./fixtures/shop.cjs', import.meta.url).pathname;
export const NODE = nodes.at(-2)?.path ?? nodes[0].path;

/** Stands in for a test where a recording is made before all of them. */
export function recordingHome() {
  const folder = mkdtempSync(join(tmpdir(), 'bobtail page '));
  const ends = [() => rmSync(folder, { recursive: true, force: true })];
  return {
    folder,
    after: (end) => ends.push(end),
    async close() {
      for (const end of ends.reverse()) await end();
    },
  };
}

const MIX = ['/', '/file', '/login', '/waste', '/', '/file', '/'];

/** One request in fifty blocks the loop for 25 ms. */
export const mixed = (n) => (n % 50 === 7 ? '/export' : MIX[n % MIX.length]);

/** Records a service under load; resolves to its folder. */
export async function recordService(
  home,
  command,
  { count = 1200, connections = 16, path = mixed, flags, cwd } = {},
) {
  const options = { cwd: cwd ?? home.folder, flags };
  const recording = await startRecording(home, command, options);
  await load(recording.port, { count, connections, path });
  await recording.end();
  return recording.folder;
}

/** Writes the page of a recording; resolves to the file and the report that it must agree with. */
export async function pageOf(folder, ...options) {
  const file = `${folder}.html`;
  const { code, stdout, stderr } = await runBobtail(['report', folder, '--html', file, ...options]);
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  assert.equal(stdout, `${file}\n`);
  return { file, report: await reportOf(folder, ...options) };
}

/** What `explain --json` says of one request. */
export async function explained(folder, id) {
  const { stdout } = await runBobtail(['explain', folder, '--json', '--request', id]);
  return JSON.parse(stdout);
}

/**
 * Writes the page of a verb with gates, which may end with the codes of gates; resolves to the file
 * and the answer of `--json` that it must agree with.
 */
export async function gatedPageOf(file, verb, gates) {
  const args = [...verb, ...gates.flatMap((gate) => ['--fail-on', gate])];
  const [page, told] = [
    await runBobtail([...args, '--html', file]),
    await runBobtail([...args, '--json']),
  ];
  assert.ok([0, 75, 76].includes(page.code), page.stderr);
  assert.equal(page.stdout, `${file}\n`);
  assert.equal(told.code, page.code, told.stderr);
  assert.equal(told.stderr, page.stderr);
  return { file, answer: JSON.parse(told.stdout) };
}
