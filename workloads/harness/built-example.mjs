// Finds an example program of the Rust crates that tests run.
//
// Built with the Rust tests and not by whoever runs it: cargo would compile crates anew for a
// single package, whose features differ from those of the workspace.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The path of an example of any crate. */
export function builtExample(name) {
  const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target');
  const program = join(target, 'tested/examples', name);
  if (!existsSync(program)) {
    throw new Error(`no ${program}: cargo build --profile tested --workspace --examples`);
  }
  return program;
}
