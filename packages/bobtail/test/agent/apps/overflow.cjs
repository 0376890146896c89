/**
 * A service that catches stack overflows out of recursion, and prints what its clients were told.
 *
 * `STORAGE` says when its AsyncLocalStorage comes into use: `early`, before the server listens,
 * or `late`, with the first request; else it has none.
 */

const { AsyncLocalStorage } = require('node:async_hooks');
const http = require('node:http');

const storage = new AsyncLocalStorage();
const { STORAGE } = process.env;
const isUsed = STORAGE === 'early' || STORAGE === 'late';
const inContext = (store, call) => (isUsed ? storage.run(store, call) : call());
if (STORAGE === 'early') storage.run('early', () => Promise.resolve());

const recursions = {
  async awaits(n) {
    return (await recursions.awaits(n + 1)) + 1;
  },
  async returns(n) {
    return recursions.returns(n + 1);
  },
  chains: (n) => Promise.resolve(n).then(Number, recursions.chains(n + 1)),
  constructs: (n) => new Promise((done) => done(recursions.constructs(n + 1))),
  plain: (n) => recursions.plain(n + 1) + 1,
};

/** Call with frames of different sizes, so that the stack ends at different places of the hooks. */
const frames = Array.from({ length: 4 }, (_, size) => {
  const names = Array.from({ length: size * 2 + 1 }, (_, n) => `a${n}`);
  return new Function('call', `let ${names.join(' = call, ')} = call; return ${names.at(-1)}(0);`);
});

async function overflows(recursion) {
  let caught = 0;
  for (const frame of frames) {
    try {
      await frame(recursion);
    } catch (error) {
      if (error instanceof RangeError) caught++;
    }
  }
  return caught;
}

const server = http.createServer((request, response) =>
  inContext(request.url, async () => {
    const recursion = recursions[request.url.slice(1)];
    const caught = recursion === undefined ? 'nothing' : await overflows(recursion);
    await new Promise((done) => setImmediate(done));
    response.end(`${request.url} caught ${caught} as ${storage.getStore()}`);
  }),
);

const get = (path) =>
  new Promise((done, fail) => {
    const options = { host: '127.0.0.1', port: server.address().port, path, agent: false };
    http
      .get(options, (response) => {
        let body = `${response.statusCode} `;
        response.on('data', (chunk) => (body += chunk)).on('end', () => done(body));
      })
      .on('error', fail);
  });

process.on('uncaughtException', (error) => console.log(`uncaught: ${error.message}`));
server.listen(0, '127.0.0.1', async () => {
  for (const name of [...Object.keys(recursions), 'after']) console.log(await get(`/${name}`));
  server.close();
});
