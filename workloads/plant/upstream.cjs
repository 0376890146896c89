// Starts the upstream service that planted servers wait for, in a process of its own.
'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');
const { plainEnvironment } = require('./environment.cjs');

/**
 * Resolves to `{port, socketPath, address}` once it listens; it ends when this process ends.
 * @param {string} [socketPath] listen on this unix socket instead of an ephemeral port
 */
function startUpstream(socketPath) {
  const service = path.join(__dirname, 'upstream-service.cjs');
  const child = spawn(process.execPath, [service, ...(socketPath ? [socketPath] : [])], {
    env: plainEnvironment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.unref();
  child.stdin.unref();
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the upstream service ended with ${code}`)));
    child.stdout.once('data', (line) => {
      child.stdout.destroy();
      const port = socketPath ? undefined : Number(line);
      resolve({ port, socketPath, address: socketPath ?? `127.0.0.1:${port}` });
    });
  });
}

module.exports = { startUpstream };
