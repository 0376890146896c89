// Touches the free memory of a machine once, so that no service is the first to use a page of it.
//
// The host of a virtual machine gives a page when it is touched for the first time, which takes
// several times as long as the guest's own fault: of two of the same service, the one that was
// given new pages took a sixth more of its core for each request, and its p99 was twice as long.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Of what is available: the rest is for who is there. */
const SHARE = 0.85;
const PIECE_MB = 256;

/** Fills `process.argv[1]` pieces and keeps them until all are filled. */
const FILL = `
  const pieces = [];
  for (let n = 0; n < Number(process.argv[1]); n += 1) {
    pieces.push(Buffer.allocUnsafeSlow(${PIECE_MB} << 20).fill(1));
  }
`;

/** Takes half a minute and more the first time since the machine started, and nothing after it. */
export function touchMemory() {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const marker = join(tmpdir(), `bobtail-bench-touched-${boot}`);
  if (existsSync(marker)) return;
  const available = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'));
  const pieces = Math.floor((Number(available[1]) * SHARE) / 1024 / PIECE_MB);
  process.stderr.write(`touching ${pieces * PIECE_MB} MB of memory for the first time\n`);
  execFileSync(process.execPath, ['-e', FILL, String(pieces)], { stdio: 'inherit' });
  writeFileSync(marker, '');
}
