/** A request that waits for a child process. */
const { execFile } = require('node:child_process');
const http = require('node:http');

const server = http.createServer((request, response) => {
  if (request.url === '/quit') return response.end('bye', () => process.exit(0));
  return execFile('true', (error) => response.end(error ? 'failed' : 'ran'));
});
server.listen(0, '127.0.0.1');
