// Installs Etherpad Lite 1.8.14 from npm into a cache folder, laid out as it wants to be found.
//
// Etherpad looks for its base folder by the name `src`, so the package is moved there and linked
// back; without that it stops with "Could not identity Etherpad base path". About 3 minutes, once.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE = 'ep_etherpad-lite@1.8.14';
const cache = join(dirname(fileURLToPath(import.meta.url)), '.cache');

/** What the load script sends as `apikey`. */
export const API_KEY = 'planted';

function settings() {
  const perMinute = 1_000_000;
  return {
    ip: '127.0.0.1',
    port: 0,
    dbType: 'dirty',
    dbSettings: { filename: join(cache, 'pads.db') },
    suppressErrorsInPadText: true,
    loglevel: 'WARN',
    importExportRateLimiting: { windowMs: 60_000, max: perMinute },
    commitRateLimiting: { duration: 1, points: perMinute },
  };
}

function install() {
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, 'package.json'), '{ "private": true, "name": "etherpad-cache" }\n');
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts', '--no-package-lock'];
  const options = { cwd: cache, stdio: ['ignore', 'ignore', 'inherit'] };
  execFileSync('npm', ['install', '--no-workspaces', ...quiet, PACKAGE], options);
  const installed = join(cache, 'node_modules', 'ep_etherpad-lite');
  renameSync(installed, join(cache, 'src'));
  symlinkSync(join('..', 'src'), installed);
}

/** The command that starts Etherpad on an ephemeral port; installs it first where needed. */
export function etherpad(node) {
  if (!existsSync(join(cache, 'src', 'node', 'server.js'))) install();
  writeFileSync(join(cache, 'settings.json'), JSON.stringify(settings(), null, 2));
  writeFileSync(join(cache, 'APIKEY.txt'), API_KEY);
  const server = join(cache, 'src', 'node', 'server.js');
  const files = ['--settings', join(cache, 'settings.json'), '--apikey', join(cache, 'APIKEY.txt')];
  return { command: [node, server, ...files], folder: cache };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) etherpad(process.execPath);
