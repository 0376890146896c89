// Finds the Chromium of the tests, or installs Debian's; run as a script it only makes sure.
//
// Not a browser that an npm package downloads: that one is no package of a registry, and hundreds
// of megabytes on every machine.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function installed() {
  const { BOBTAIL_CHROMIUM, PATH = '' } = process.env;
  const folders = PATH.split(delimiter).filter((folder) => folder !== '');
  const paths = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)));
  return [BOBTAIL_CHROMIUM, ...paths].find((path) => path && isExecutable(path));
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Path of a Chromium; throws where there is none. */
export function findChromium() {
  const path = installed();
  if (path !== undefined) return path;
  throw new Error(
    'no Chromium for the tests of the HTML report: install one (apt-get install chromium) ' +
      'or name one in BOBTAIL_CHROMIUM',
  );
}

function install() {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const packages = ['chromium', 'fonts-dejavu-core'];
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    spawnSync('apt-get', args, { stdio: ['ignore', 2, 2], env });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (installed() === undefined && process.getuid?.() === 0) install();
  try {
    process.stdout.write(`${findChromium()}\n`);
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
