/**
 * Unusual ways to start Node: the service runs as without the agent, recorded where that is
 * possible, and otherwise one line says why it is not.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { nodes, requests, run, traces } from './nodes.mjs';

const APPS = fileURLToPath(new URL('./apps/', import.meta.url));
const IMPORT = `--import "data:text/javascript,globalThis.imported = 'imported'"`;

/** The permission model under the name it has in a version, with what a server needs. */
function permission(major, ...more) {
  const net = major >= 25 ? ['--allow-net'] : [];
  return [major < 23 ? '--experimental-permission' : '--permission', ...net, ...more];
}

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
  const major = Number.parseInt(version.slice(1), 10);
  const everywhere = ['--allow-fs-read=*', '--allow-fs-write=*'];

  /** Runs the app with and without the agent: the same output, and the same exit code 0. */
  const compare = async (flags, env = {}) => {
    const bare = await run(node, 'self.cjs', { record: false, flags, env });
    const recorded = await run(node, 'self.cjs', { flags, env });
    assert.equal(bare.code, 0, bare.stderr);
    assert.equal(recorded.code, 0, recorded.stderr);
    assert.equal(recorded.stdout, bare.stdout);
    const warnings = recorded.stderr.split('\n').filter((line) => line.includes('bobtail: '));
    return { warnings, all: traces(recorded.folder).flatMap(requests), stdout: recorded.stdout };
  };

  const recordable = {
    'frozen intrinsics': ['--frozen-intrinsics'],
    'no __proto__': ['--disable-proto=delete'],
    'a __proto__ that throws': ['--disable-proto=throw'],
    'permission for addons': permission(major, ...everywhere, '--allow-addons'),
    ...(major < 23 && { 'ES modules by default': ['--experimental-default-type=module'] }),
  };
  for (const [name, flags] of Object.entries(recordable)) {
    test(`recorded: ${name} (${version})`, async () => {
      const { warnings, all } = await compare(flags);
      assert.deepEqual(warnings, []);
      assert.equal(all.length, 1);
      assert.equal(all[0].status, 200);
    });
  }

  test(`recorded: --import in NODE_OPTIONS, timers faked later (${version})`, async () => {
    const { all, stdout } = await compare([], { NODE_OPTIONS: IMPORT });
    const seen = ['imported', 'faked timeout', 'faked tick', 'served'];
    assert.deepEqual(JSON.parse(stdout), seen);
    assert.equal(all.length, 1);
  });

  const refused = {
    'no addons': [['--no-addons'], /addons are disabled: .*--allow-addons/],
    'no permission for addons': [permission(major, ...everywhere), /addons are disabled: /],
    // Node 20 does not let a preloaded file be read itself: nothing can be done from inside.
    ...(major > 20 && {
      'no permission to read the agent': [
        permission(major, `--allow-fs-read=${APPS}`),
        /restricted.*--allow-fs-read/,
      ],
    }),
  };
  for (const [name, [flags, reason]] of Object.entries(refused)) {
    test(`unharmed: ${name} (${version})`, async () => {
      const { warnings, all } = await compare(flags);
      assert.equal(warnings.length, 1, warnings.join());
      assert.match(warnings[0], /^bobtail: not recording this process: /);
      assert.match(warnings[0], reason);
      assert.equal(all.length, 0);
    });
  }
}
