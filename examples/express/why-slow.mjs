// Records the express service under its load and says why its slowest requests were slow.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Failure, record } from 'bobtail';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const milliseconds = (ns) => `${(ns / 1e6).toFixed(1)} ms`;
const home = await mkdtemp(join(tmpdir(), 'bobtail-example-'));

try {
  const recording = await record({
    command: [process.execPath, path('server.mjs')],
    onPort: `"${process.execPath}" "${path('../load.mjs')}" 400`,
    out: join(home, 'recording.bobtail'),
  });

  const { requests, tail, culprits, findings } = await recording.report({ percentile: 95 });
  console.log(`${requests.count} requests, p50 ${milliseconds(requests.percentilesNs[50])}`);
  console.log(`p${tail.percentile} ${milliseconds(tail.thresholdNs)}`);
  for (const { route, type, inflictedNs } of culprits.slice(0, 3)) {
    console.log(`  ${milliseconds(inflictedNs / tail.count)} behind ${route ?? type}`);
  }
  for (const { action } of findings) console.log(`to do: ${action}`);

  const { route, latencyNs, segments } = await recording.explain({ slowest: 1 });
  console.log(`slowest: ${route} ${milliseconds(latencyNs)}`);
  for (const { kind, durationNs } of segments) console.log(`  ${kind} ${milliseconds(durationNs)}`);

  for (const { gate, outcome } of await recording.check(['p50<10s', 'losses=0'])) {
    console.log(`gate ${gate}: ${outcome}`);
    if (outcome !== 'passed') process.exitCode = 1;
  }
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
} finally {
  await rm(home, { recursive: true, force: true });
}
