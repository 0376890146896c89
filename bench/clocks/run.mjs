// What one reading of each clock takes: in native code, and in JavaScript on each Node given.
//
//   node bench/clocks/run.mjs NODE...
//
// Each figure is the median of 25 rounds in one process; it needs `rustc` on an x86-64.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const READ = `
  const median = (read) => {
    const rounds = Array.from({ length: 25 }, () => {
      const begin = process.hrtime.bigint();
      for (let n = 0; n < 1e6; n += 1) read();
      return Number(process.hrtime.bigint() - begin) / 1e6;
    });
    return rounds.toSorted((a, b) => a - b)[12].toFixed(1);
  };
  const now = median(() => performance.now());
  const hrtime = median(() => process.hrtime());
  const bigint = median(() => process.hrtime.bigint());
  const each = 'performance.now ' + now + ' ns, hrtime ' + hrtime + ' ns, hrtime.bigint ' + bigint;
  console.log(process.version + ': ' + each + ' ns');
`;

const folder = mkdtempSync(join(tmpdir(), 'bobtail-clocks-'));
try {
  const native = join(folder, 'clocks');
  const source = fileURLToPath(new URL('clocks.rs', import.meta.url));
  execFileSync('rustc', ['-O', '--edition=2021', '-o', native, source], { stdio: 'inherit' });
  process.stdout.write(execFileSync(native));
  for (const node of process.argv.slice(2)) process.stdout.write(execFileSync(node, ['-e', READ]));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
