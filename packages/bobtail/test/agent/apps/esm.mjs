/** An ES module as entry, with named imports of builtins and of a CommonJS package. */
import { createServer } from 'node:http';
import { nextTick } from 'node:process';
import { setTimeout as later, setImmediate as soon } from 'node:timers';
import { scheduler, setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';

const server = createServer(async (request, response) => {
  if (request.url === '/quit') return response.end('bye', () => process.exit(0));
  // A timer of the same list that is due before: the next must not be taken for it.
  later(() => undefined, 2);
  await sleep(2);
  await turn();
  await scheduler.wait(3);
  return later(() => soon(() => nextTick(() => response.end('esm'))), 4);
});
server.listen(0, '127.0.0.1');
