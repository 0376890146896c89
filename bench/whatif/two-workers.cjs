// A server as a cluster of two workers: node bench/whatif/two-workers.cjs SERVER
'use strict';

const cluster = require('node:cluster');
const { resolve } = require('node:path');

const WORKERS = 2;
const server = resolve(process.argv[2]);

if (cluster.isPrimary) {
  for (let n = 0; n < WORKERS; n++) cluster.fork();
  process.on('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill();
    cluster.disconnect(() => process.exit(0));
  });
} else {
  require(server);
}
