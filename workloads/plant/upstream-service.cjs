// An HTTP service that answers `/MS` after MS milliseconds and says when, by its own clock.
'use strict';

const http = require('node:http');

function nowNs() {
  return Number(process.hrtime.bigint());
}

const server = http.createServer((request, response) => {
  const receivedNs = nowNs();
  const ms = Number(request.url.slice(1));
  setTimeout(() => {
    response.end(JSON.stringify({ receivedNs, answeredNs: nowNs() }));
  }, ms);
});
server.keepAliveTimeout = 600_000;

const [socketPath] = process.argv.slice(2);
const tell = () => process.stdout.write(`${socketPath ?? server.address().port}\n`);
if (socketPath) server.listen(socketPath, tell);
else server.listen(0, '127.0.0.1', tell);

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => undefined);
process.stdin.on('end', () => process.exit()).resume();
