'use strict';
// What the observed processes of all scenarios share: the addon, loaded as Node does, and how the
// agent starts it.

const path = require('node:path');
const { performance } = require('node:perf_hooks');
const { promisify } = require('node:util');
const worker = require('node:worker_threads');

/** Of the scenario: its name, the folder for traces, and what else it was given. */
const [name, out, ...rest] = worker.isMainThread ? process.argv.slice(2) : worker.workerData;
const addon = { exports: {} };
process.dlopen(addon, process.env.BOBTAIL_PROBE);
const probe = addon.exports;

function start(options = {}) {
  return probe.start({
    path: path.join(out, `${process.pid}-${worker.threadId}.trace`),
    pid: process.pid,
    thread: worker.threadId,
    detail: 'full',
    maxBytes: 64e6,
    nodeVersion: process.version,
    arch: process.arch,
    ...options,
  });
}

const sleep = promisify(setTimeout);
const spin = (ms) => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

module.exports = { name, out, probe, rest, sleep, spin, start };
