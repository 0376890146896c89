// A catalogue as many services are: express, a bounded cache, a store that answers after a
// millisecond, JSON in and out. Nothing in it is there to make garbage.
'use strict';

const http = require('node:http');
const express = require('express');
const { setTimeout: sleep } = require('node:timers/promises');

const CACHED_MAX = 20_000;
const PRODUCTS = 60_000;
const STORE_MS = 1;
const cache = new Map();

/** What the store has of a product, as text, as a database's driver would get it. */
async function stored(id) {
  await sleep(STORE_MS);
  const reviews = Array.from({ length: 6 }, (_, index) => ({
    by: `user-${(id * 31 + index) % 9973}`,
    stars: 1 + ((id + index) % 5),
    text: `review ${index} of product ${id}, which says that it is as described`,
  }));
  return JSON.stringify({ id, name: `product ${id}`, cents: 100 + (id % 5000), reviews });
}

async function product(id) {
  const known = cache.get(id);
  if (known !== undefined) return known;
  const found = JSON.parse(await stored(id));
  cache.set(id, found);
  // The oldest goes: a plain bound, as of many a cache.
  if (cache.size > CACHED_MAX) cache.delete(cache.keys().next().value);
  return found;
}

const app = express();
app.get('/products/:id', async (request, response) => {
  response.json(await product(Number(request.params.id) % PRODUCTS));
});
app.get('/search/:word', async (request, response) => {
  const first = Number(request.params.word) % PRODUCTS;
  const found = await Promise.all(Array.from({ length: 12 }, (_, i) => product(first + i)));
  const hits = found.map(({ id, name, cents, reviews }) => {
    const stars = reviews.reduce((sum, one) => sum + one.stars, 0) / reviews.length;
    return { id, name, cents, stars };
  });
  response.json({ hits: hits.sort((a, b) => b.stars - a.stars) });
});
http.createServer(app).listen(0, '127.0.0.1');
