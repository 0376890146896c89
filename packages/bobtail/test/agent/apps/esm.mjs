/** An ES module as entry, with named imports of builtins and of a CommonJS package. */
import { createServer } from 'node:http';
import { nextTick } from 'node:process';
import { setTimeout as later } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';

const server = createServer(async (request, response) => {
  if (request.url === '/quit') return response.end('bye', () => process.exit(0));
  await sleep(2);
  return later(() => nextTick(() => response.end('esm')), 2);
});
server.listen(0, '127.0.0.1');
