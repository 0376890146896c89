// Runs a program that was compiled for WASI, with the files of this machine: cargo's runner for
// `other-machines.mjs`.
//
//   node --no-warnings bench/whatif/wasi.mjs PROGRAM.wasm [ARGUMENT…]
import { readFileSync } from 'node:fs';
import { WASI } from 'node:wasi';

const [program, ...rest] = process.argv.slice(2);
const wasi = new WASI({
  version: 'preview1',
  args: [program, ...rest],
  env: process.env,
  preopens: { '/': '/' },
});
const module = await WebAssembly.compile(readFileSync(program));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
