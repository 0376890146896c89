// Commands over one Redis connection, in callback style, with a decoy timer in the same request.
'use strict';

const http = require('node:http');
const { Redis } = require('ioredis');
const truth = require('../plant/truth.cjs');

const address = process.env.PLANTED_REDIS;
const [host, port] = address.split(':');
const redis = new Redis({ host, port: Number(port) });

function slow(planted, response) {
  planted.resource('redis', address);
  setTimeout(() => undefined, 15);
  planted.note('wait');
  setTimeout(() => {
    planted.note('woke');
    planted.note('ask');
    redis.debug('SLEEP', '0.04', (error) => {
      if (error) throw error;
      planted.note('answered');
      planted.answer(response);
    });
    planted.note('askEnd');
  }, 5);
  planted.note('waitEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/slow') slow(planted, response);
  else planted.answer(response);
});
redis.once('ready', () => truth.listen(server));
