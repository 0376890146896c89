// The Node binaries that suites run on.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(import.meta.url);
const NAMES = ['node20', 'node22', 'node24', 'node26'];

function installed(name) {
  for (const modules of require.resolve.paths(name)) {
    const binary = join(modules, name, 'bin', 'node');
    if (existsSync(binary)) return binary;
  }
  return undefined;
}

/**
 * Paths of Node binaries: those of BOBTAIL_TEST_NODES (separated by colons), else of the npm
 * packages `node20` to `node26`, else the Node that runs this.
 */
export function nodeBinaries() {
  const named = process.env.BOBTAIL_TEST_NODES?.split(':').filter(Boolean) ?? [];
  for (const path of named) if (!existsSync(path)) throw new Error(`no Node binary at ${path}`);
  if (named.length) return named;
  const found = NAMES.map(installed).filter(Boolean);
  return found.length ? found : [process.execPath];
}
