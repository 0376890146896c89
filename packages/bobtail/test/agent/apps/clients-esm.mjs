/** The same from an ES module: a CommonJS client by `import`. */
import { createServer } from 'node:http';
import pg from 'pg';

const client = new pg.Client(process.env.PLANTED_POSTGRES);
await client.connect();
const server = createServer((request, response) => {
  if (request.url === '/quit') return response.end('bye', () => process.exit(0));
  return setTimeout(() => client.query('select pg_sleep(0.003)', () => response.end('ok')), 1);
});
server.listen(0, '127.0.0.1');
