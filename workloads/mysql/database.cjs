// A server of the MySQL protocol that answers every query after 40 ms, in a process of its own.
//
// No package registry we use has a MySQL that runs without installation as root. What is planted is
// the client's queue of callbacks on a real socket, so `mysql2` speaks both sides of the protocol.
'use strict';

const { spawn } = require('node:child_process');
const mysql = require('mysql2');
const { plainEnvironment } = require('../plant/environment.cjs');

const QUERY_MS = 40;

/** Starts it; resolves to `{host, port}`. It ends when this process ends. */
function startDatabase() {
  const child = spawn(process.execPath, [__filename], {
    env: plainEnvironment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.unref();
  child.stdin.unref();
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`the database ended with ${code}`)));
    child.stdout.once('data', (line) => {
      child.stdout.destroy();
      resolve({ host: '127.0.0.1', port: Number(line) });
    });
  });
}

/** A query is packet 0 of its exchange, the answer packet 1. */
function answer(connection) {
  connection.sequenceId = 1;
  connection.writeOk();
  connection.sequenceId = 0;
}

function greet(connection) {
  connection.serverHandshake({
    protocolVersion: 10,
    serverVersion: '8.0.0-planted',
    connectionId: 1,
    statusFlags: 2,
    characterSet: 33,
    capabilityFlags: 0xffffff ^ 0x800,
    authCallback: (_parameters, done) => {
      done(null);
      connection.sequenceId = 0;
    },
  });
  connection.on('query', () => setTimeout(() => answer(connection), QUERY_MS));
  connection.on('error', () => connection.close());
}

function serve() {
  const server = mysql.createServer(greet);
  server.listen(0, '127.0.0.1', () => process.stdout.write(`${server._server.address().port}\n`));
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => undefined);
  process.stdin.on('end', () => process.exit()).resume();
}

if (require.main === module) serve();

module.exports = { startDatabase };
