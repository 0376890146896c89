#!/usr/bin/env node
// The command. Not what is built, as npm makes a command only of a file that is there when it
// installs, which in a fresh checkout is before anything is.
'use strict';
const { existsSync } = require('node:fs');
const { join } = require('node:path');

const MAIN = join(__dirname, '..', 'dist', 'cli', 'main.js');
const INCOMPLETE_INSTALLATION = 70;

if (existsSync(MAIN)) {
  require(MAIN);
} else {
  process.stderr.write(`bobtail: not built yet: npm run build (no ${MAIN})\n`);
  process.exitCode = INCOMPLETE_INSTALLATION;
}
