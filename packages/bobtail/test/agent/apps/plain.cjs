/** A server of plain `http`: timers, a body, a crash. */
const http = require('node:http');

const routes = {
  '/slow': (_request, response) => setTimeout(() => response.end('slow'), 5),
  '/many': (_request, response) => {
    const until = performance.now() + 30;
    // However much of that time the host takes.
    for (let set = 0; set < 1500 || performance.now() < until; set += 1) {
      setTimeout(() => undefined, 1);
    }
    setTimeout(() => response.end('many'), 5);
  },
  '/await': async (_request, response) => {
    await new Promise((done) => setTimeout(done, 3));
    response.end('awaited');
  },
  '/body': (request, response) => {
    let bytes = 0;
    request.on('data', (chunk) => {
      bytes += chunk.length;
    });
    request.on('end', () => response.end(String(bytes)));
  },
  '/twice': (_request, response) => {
    response.end('once');
    response.end();
  },
  '/crash/7': () =>
    setTimeout(() => {
      throw new Error('planted crash');
    }, 1),
  '/quit': (_request, response) => {
    response.end('bye', () => process.exit(0));
  },
};

const server = http.createServer((request, response) => {
  const route = routes[request.url.split('?')[0]];
  if (route !== undefined) return route(request, response);
  response.statusCode = 404;
  return response.end('no');
});
server.listen(0, '127.0.0.1');
