// Asks Redis several times for each request, one after the other.
'use strict';

const Redis = require('ioredis');
const { start } = require('./application.cjs');

const KEYS = 1000;
const ITEMS = 300;
const ASKED = 2;

start(async () => {
  const [host, port] = process.env.PLANTED_REDIS.split(':');
  const redis = new Redis({ host, port: Number(port) });
  const pipeline = redis.pipeline();
  for (let key = 0; key < KEYS; key += 1) {
    const items = Array.from({ length: ITEMS }, (_, i) => [(i * 7919 + key) % 1000, `item ${i}`]);
    pipeline.del(`list:${key}`).zadd(`list:${key}`, ...items.flat());
  }
  await pipeline.exec();
  // A server's own work, on its own core: the union of sorted sets.
  return async (n) => {
    for (let i = 0; i < ASKED; i += 1) {
      const [a, b] = [(n + i) % KEYS, (n * 31 + i) % KEYS];
      await redis.zunion(2, `list:${a}`, `list:${b}`).then((found) => found.length);
    }
  };
});
