// `cpu` of bench/boost with one request in a hundred that keeps the loop for itself: it hashes
// there, and every request that comes meanwhile waits for it.
//
// A fixed amount of work and not a fixed time, so that a boost shortens it.
'use strict';

const { pbkdf2Sync } = require('node:crypto');
const { start } = require('../boost/services/application.cjs');

const BLOCKS_ONE_IN = 100;
/** One of the kinds that have one round of I/O: it comes as often as it is asked for. */
const WHICH = 50;
/** Some 8 ms at full speed. */
const ROUNDS = 35_000;

start(async () => async (n) => {
  if (n % BLOCKS_ONE_IN === WHICH) pbkdf2Sync('secret', 'salt', ROUNDS, 32, 'sha256');
});
