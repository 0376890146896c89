// Tells the experiment where a service listens and which process it is, once it can answer.
'use strict';

/**
 * The process id matters where a tool starts the service as its child. Connections stay open while
 * other arms have their turn, so the server may not close idle ones, used or not.
 */
exports.listen = (server) => {
  server.keepAliveTimeout = 0;
  server.headersTimeout = 0;
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    process.stdout.write(`${JSON.stringify({ listening: { port, pid: process.pid } })}\n`);
  });
};
