/** An HTTP/2 server: the stream API, and the compatibility API below /compat. */
const http2 = require('node:http2');

const server = http2.createServer((request, response) => {
  if (request.url === '/quit') return response.stream.close(0, () => process.exit(0));
  if (!request.url.startsWith('/compat')) return undefined;
  response.statusCode = 201;
  return setTimeout(() => response.end('compat'), 2);
});
server.on('stream', (stream, headers) => {
  if (!headers[':path'].startsWith('/stream')) return;
  setTimeout(() => {
    stream.respond({ ':status': 202 });
    stream.end('stream');
  }, 2);
});
server.listen(0, '127.0.0.1');
