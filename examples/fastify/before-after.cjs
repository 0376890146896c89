// Records the fastify service before and after a change and says what moved.
'use strict';

const { mkdtemp, rm } = require('node:fs/promises');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { diff, record } = require('bobtail');

const milliseconds = (ns) => (ns === null ? '–' : `${(ns / 1e6).toFixed(1)} ms`);

/** Records the service with these arguments. */
function recordService(out, ...args) {
  return record({
    command: [process.execPath, join(__dirname, 'server.mjs'), ...args],
    onPort: `"${process.execPath}" "${join(__dirname, '../load.mjs')}" 600`,
    out,
  });
}

async function main() {
  const home = await mkdtemp(join(tmpdir(), 'bobtail-example-'));
  try {
    const before = await recordService(join(home, 'before.bobtail'));
    const after = await recordService(join(home, 'after.bobtail'), '--in-steps');
    const { routes } = await diff(before, after, { percentile: 50 });
    for (const { route, mean, percentiles } of routes) {
      const told = percentiles.filter(({ latency }) => latency.deltaNs !== null);
      for (const [name, change] of [
        ['mean', mean],
        ...told.map(({ percentile, latency }) => [`p${percentile}`, latency]),
      ]) {
        const values = `${milliseconds(change.aNs)} to ${milliseconds(change.bNs)}`;
        console.log(`${route} ${name}: ${values}: ${change.verdict}`);
      }
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

main();
