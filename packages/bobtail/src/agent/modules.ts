/**
 * Runs a patch once when a file of a known package has been loaded.
 *
 * `Module.prototype.load` and not `Module._load`: it sees the resolved file exactly once, for
 * `require` and for the import of a CommonJS package from an ES module alike (Node loads both
 * through it), and costs nothing for modules that are in the cache.
 */

import Module = require('node:module');

import { replace } from './disguise';
import { attempt } from './mechanisms';

/** Changes what a loaded module exports, in place. */
export type Patch = (exported: unknown) => void;

interface LoadedModule {
  exports: unknown;
}

const FOLDER = '/node_modules/';

/** Wraps module loading. The keys are files below `node_modules`, such as `pg/lib/client.js`. */
export function patchModules(patches: ReadonlyMap<string, Patch>): void {
  const prototype = (Module as unknown as { prototype: { load(...args: unknown[]): unknown } })
    .prototype;
  const original = prototype.load;
  function load(this: LoadedModule, filename: unknown): unknown {
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    const result = Reflect.apply(original, this, arguments);
    const file = fileInPackage(filename);
    const patch = patches.get(file);
    if (patch !== undefined) attempt(`client ${file}`, () => patch(this.exports));
    return result;
  }
  replace(prototype, 'load', load);
}

/** The part of `filename` after the innermost `node_modules`; empty outside any. */
function fileInPackage(filename: unknown): string {
  if (typeof filename !== 'string') return '';
  const at = filename.lastIndexOf(FOLDER);
  return at < 0 ? '' : filename.slice(at + FOLDER.length);
}
