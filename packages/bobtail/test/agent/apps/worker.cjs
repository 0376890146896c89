/** A server in a worker thread; the main thread serves nothing. */
const http = require('node:http');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

if (isMainThread) {
  const worker = new Worker(__filename);
  worker.on('message', () => worker.terminate());
} else {
  const server = http.createServer((request, response) => {
    if (request.url !== '/quit') return setTimeout(() => response.end('worker'), 2);
    return response.end('bye', () => parentPort.postMessage('quit'));
  });
  server.listen(0, '127.0.0.1');
}
