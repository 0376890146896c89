// Commands over one Redis connection, with promises, with a decoy timer in the same request.
import { createServer } from 'node:http';
import { Redis } from 'ioredis';
import truth from '../plant/truth.cjs';

const address = process.env.PLANTED_REDIS;
const [host, port] = address.split(':');
const redis = new Redis({ host, port: Number(port) });

async function slow(planted, response) {
  planted.resource('redis', address);
  setTimeout(() => undefined, 15);
  planted.note('wait');
  const pending = new Promise((resolve) => setTimeout(resolve, 5));
  planted.note('waitEnd');
  await pending;
  planted.note('woke');
  planted.note('ask');
  const answered = redis.debug('SLEEP', '0.04');
  planted.note('askEnd');
  await answered;
  planted.note('answered');
  planted.answer(response);
}

const server = createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/slow') slow(planted, response);
  else planted.answer(response);
});
redis.once('ready', () => truth.listen(server));
