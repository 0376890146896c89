// What all services of this experiment do beside their I/O: six kinds of request of different cost,
// a bounded cache that lives long, and JSON, so that V8 collects as it does in real services.
//
// Seeded, so that every start of a round makes the same cache.
'use strict';

const { seededRandom } = require('../../../packages/bobtail/dist/prove/shuffle.js');

/** Small, so that collections of the whole heap are short and come in every round. */
const CACHED_MAX = 8_000;
/** Of an entry: enough that the whole heap is collected every second or two. */
const TEXT_LENGTH = 1000;
/**
 * Kinds of request: how often of a hundred, rows that are made, lookups, and rounds of I/O. A tenth
 * of a millisecond in the mean at full speed, so that 50,000 requests take a third of a minute.
 */
const KINDS = [
  { share: 40, rows: 2, lookups: 2, rounds: 1 },
  { share: 18, rows: 6, lookups: 4, rounds: 1 },
  { share: 15, rows: 12, lookups: 4, rounds: 1 },
  { share: 16, rows: 18, lookups: 8, rounds: 2 },
  { share: 8, rows: 40, lookups: 12, rounds: 2 },
  { share: 3, rows: 200, lookups: 24, rounds: 3 },
];

const random = seededRandom(Number(process.env.SEED ?? 1));
const cache = new Map();
/** The keys as they came, in a ring: to find a Map's oldest takes ever longer as it is emptied. */
const keys = new Array(CACHED_MAX);
let remembered = 0;

function remember(key) {
  cache.set(key, {
    key,
    at: remembered,
    tags: [`t${key % 97}`, `u${key % 89}`],
    text: `entry ${key}`.padEnd(TEXT_LENGTH),
  });
  const place = remembered % CACHED_MAX;
  if (remembered >= CACHED_MAX) cache.delete(keys[place]);
  keys[place] = key;
  remembered += 1;
}

function lookUp(key) {
  const isThere = cache.has(key);
  if (!isThere) remember(key);
  return isThere;
}

function kindOf(n) {
  let below = 0;
  for (const kind of KINDS) {
    below += kind.share;
    if (n % 100 < below) return kind;
  }
  return KINDS[0];
}

/** The work of a request, as an object that is sent as JSON. */
function work({ rows, lookups }) {
  const made = Array.from({ length: rows }, (_, i) => ({
    id: i,
    name: `row ${i}`,
    score: Math.sqrt(i * random()),
    tags: [`a${i % 7}`, `b${i % 11}`],
  }));
  made.sort((a, b) => b.score - a.score);
  let hits = 0;
  for (let i = 0; i < lookups; i += 1) {
    if (lookUp(Math.floor(random() * CACHED_MAX * 2))) hits += 1;
  }
  return { hits, top: JSON.parse(JSON.stringify(made)).slice(0, 20) };
}

/** As a service is that has been asked for a while. */
function fillCache() {
  while (remembered < CACHED_MAX) lookUp(Math.floor(random() * CACHED_MAX * 2));
}

module.exports = { fillCache, kindOf, work };
