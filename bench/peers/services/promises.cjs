// A promise-heavy service: fifty awaited calls for each request, as layered code has them.
// What a tool does for each promise weighs most here.
'use strict';

const http = require('node:http');
const { listen } = require('./listen.cjs');

async function store(key) {
  await null;
  return key * 31;
}

async function repository(key) {
  const [left, right] = await Promise.all([store(key), store(key + 1)]);
  return left + right;
}

async function policy(key) {
  let sum = 0;
  for (let i = 0; i < 5; i += 1) sum += await repository(key + i);
  return sum;
}

async function answer() {
  const first = await policy(1);
  const [second, third] = await Promise.all([policy(first % 7), policy(first % 11)]);
  return JSON.stringify({ first, second, third });
}

const server = http.createServer((_request, response) => {
  answer().then(
    (body) => response.end(body),
    (error) => {
      response.statusCode = 500;
      response.end(String(error));
    },
  );
});
listen(server);
