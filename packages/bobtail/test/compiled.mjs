/** C that a test has the observed process load: an addon, or a library before libc. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The path of a library made of `source` with options of the compiler; gone after the test. */
export function compiled(test, source, ...options) {
  // The loader would cut a path that has spaces in it.
  const folder = mkdtempSync(join(tmpdir(), 'bobtail-compiled-'));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  const library = join(folder, 'library.node');
  const args = ['-shared', '-fPIC', ...options, '-o', library, '-x', 'c', '-'];
  execFileSync('cc', args, { input: source });
  return library;
}
