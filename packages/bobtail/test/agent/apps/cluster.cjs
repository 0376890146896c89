/** A cluster of two workers that share one port. */
const cluster = require('node:cluster');
const http = require('node:http');

if (cluster.isPrimary) {
  for (let i = 0; i < 2; i++) cluster.fork();
  cluster.on('message', () => {
    for (const worker of Object.values(cluster.workers)) worker.kill();
    setTimeout(() => process.exit(0), 200).unref();
  });
} else {
  const server = http.createServer((request, response) => {
    if (request.url === '/quit') process.send('quit');
    response.end(String(process.pid));
  });
  server.listen(0, '127.0.0.1');
}
