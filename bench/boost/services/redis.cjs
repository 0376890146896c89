// Asks Redis with each request: how many members two sorted sets share.
'use strict';

const Redis = require('ioredis');
const { start } = require('./application.cjs');

const KEYS = 1000;
const ITEMS = 300;

start(async () => {
  const [host, port] = process.env.PLANTED_REDIS.split(':');
  const redis = new Redis({ host, port: Number(port) });
  const pipeline = redis.pipeline();
  for (let key = 0; key < KEYS; key += 1) {
    const items = Array.from({ length: ITEMS }, (_, i) => [(i * 7919 + key) % 1000, `item ${i}`]);
    pipeline.del(`list:${key}`).zadd(`list:${key}`, ...items.flat());
  }
  await pipeline.exec();
  // Redis's own work, on its own core, and a short answer.
  return (n) => redis.zintercard(2, `list:${n % KEYS}`, `list:${(n * 31) % KEYS}`);
});
