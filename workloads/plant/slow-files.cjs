// Files that are as slow as we want: FIFOs, filled by a feeder process after a known delay.
//
// A slow disk cannot be had on demand, but a read of a FIFO blocks a pool thread in the kernel just
// as a read of a slow disk does. The feeder tells in the data itself when it wrote, so the server
// knows to the microsecond when the read could return.
'use strict';

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { plainEnvironment } = require('./environment.cjs');

/** A folder of slow files, and the process that feeds them. */
class SlowFiles {
  /** @param {string[]} names file names to make */
  constructor(names) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'planted-'));
    const control = fs.mkdtempSync(path.join(os.tmpdir(), 'planted-control-'));
    const orders = path.join(control, 'orders');
    execFileSync('mkfifo', [orders, ...names.map((name) => this.path(name))]);
    this.orders = fs.openSync(orders, 'r+');
    const feeder = path.join(__dirname, 'slow-feeder.cjs');
    this.feeder = spawn(process.execPath, [feeder, orders, this.folder, control], {
      env: plainEnvironment(),
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    this.feeder.unref();
    this.feeder.stdin.unref();
  }

  path(name) {
    return path.join(this.folder, name);
  }

  /** Lets a read of the open file `name` (opened `r+`) return after `ms`. */
  fillAfter(name, ms) {
    fs.writeSync(this.orders, `fill ${ms} ${this.path(name)}\n`);
  }

  /** Lets a whole read (open to end of file) of `name` take `ms`. */
  serveOnce(name, ms) {
    fs.writeSync(this.orders, `serve ${ms} ${this.path(name)}\n`);
  }
}

/** When the feeder wrote `data`, in ns of CLOCK_MONOTONIC. */
function writtenNs(data) {
  return JSON.parse(data.toString()).writtenNs;
}

module.exports = { SlowFiles, writtenNs };
