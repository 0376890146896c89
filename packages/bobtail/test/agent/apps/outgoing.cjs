/** Requests that make requests through an agent with one socket. */
const http = require('node:http');

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
let port = 0;
const server = http.createServer((request, response) => {
  if (request.url === '/quit') return response.end('bye', () => process.exit(0));
  if (request.url.startsWith('/inner')) return setTimeout(() => response.end('inner'), 3);
  const options = { host: '127.0.0.1', port, agent, path: '/inner' };
  return http.get(options, (answer) => answer.resume().on('end', () => response.end('outer')));
});
server.listen(0, '127.0.0.1', () => {
  port = server.address().port;
});
