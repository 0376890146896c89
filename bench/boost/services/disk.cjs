// Writes a record to disk for a twelfth of its I/O, and answers when the disk has it.
'use strict';

const { constants, mkdtempSync, promises, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { start } = require('./application.cjs');

const RECORD_BYTES = 4096;
const RECORDS = 4096;
/** A write takes a millisecond or more: with one each the service would be all I/O. */
const WRITES_ONE_IN = 12;

start(async () => {
  const folder = mkdtempSync(join(process.env.DISK_DIR ?? tmpdir(), 'bench-disk-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_DSYNC;
  const file = await promises.open(join(folder, 'log'), flags);
  // Written once, so that later writes change no metadata.
  const record = Buffer.alloc(RECORD_BYTES, 'x');
  const all = Buffer.alloc(RECORD_BYTES * RECORDS, 'y');
  await file.write(all, 0, all.length, 0);
  let next = 0;
  return async (n) => {
    if (n % WRITES_ONE_IN !== 0) return;
    next = (next + 1) % RECORDS;
    await file.write(record, 0, RECORD_BYTES, next * RECORD_BYTES);
  };
});
