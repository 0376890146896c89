// Reads three pages, one after the other, past the page cache for a third of its I/O.
//
// Not durable writes: how long those take differs by a factor of a hundred from minute to minute on
// a shared disk, and four of a pool at once can be too slow for any load.
'use strict';

const { constants, mkdtempSync, openSync, promises, readSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { start } = require('./application.cjs');

const PAGE_BYTES = 16 * 1024;
const PAGES = 1024;
const READS = 3;
const READS_ONE_IN = 3;
/** What reads past the page cache must be aligned to, at most; buffers are to 16 bytes. */
const ALIGNED_MAX = 4096;
const STEP = 16;
const BUFFERS = 64;

/** A buffer that the kernel takes for such reads of `descriptor`. */
function alignedBuffer(descriptor) {
  const whole = Buffer.allocUnsafeSlow(PAGE_BYTES + ALIGNED_MAX);
  for (let offset = 0; offset < ALIGNED_MAX; offset += STEP) {
    const buffer = whole.subarray(offset, offset + PAGE_BYTES);
    try {
      readSync(descriptor, buffer, 0, PAGE_BYTES, 0);
      return buffer;
    } catch (error) {
      if (error.code !== 'EINVAL') throw error;
    }
  }
  throw new Error('no buffer is aligned for reads past the page cache');
}

start(async () => {
  const folder = mkdtempSync(join(process.env.DISK_DIR ?? tmpdir(), 'bench-disk-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'pages');
  await promises.writeFile(path, Buffer.alloc(PAGE_BYTES * PAGES, 'x'), { flush: true });
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECT);
  const file = await promises.open(path, constants.O_RDONLY | constants.O_DIRECT);
  const free = Array.from({ length: BUFFERS }, () => alignedBuffer(descriptor));
  return async (n) => {
    if (n % READS_ONE_IN !== 0) return;
    const buffer = free.pop() ?? alignedBuffer(descriptor);
    for (let i = 0; i < READS; i += 1) {
      const page = (n * 31 + i * 7919) % PAGES;
      await file.read(buffer, 0, PAGE_BYTES, page * PAGE_BYTES);
    }
    free.push(buffer);
  };
});
