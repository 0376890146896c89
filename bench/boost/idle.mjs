// A server that nobody asks: what boosts it holds the frequency of a core.
import { createServer } from 'node:http';

const server = createServer((_, response) => response.end());
process.on('SIGTERM', () => process.exit(0));
server.listen(0, '127.0.0.1', () => {
  const listening = { port: server.address().port, pid: process.pid };
  process.stdout.write(`${JSON.stringify({ listening })}\n`);
});
