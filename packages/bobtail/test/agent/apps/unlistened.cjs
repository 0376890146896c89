/** A server that is given its connection, in a process that never listens; and an idle child. */
const { fork } = require('node:child_process');
const http = require('node:http');
const { duplexPair } = require('node:stream');

const server = http.createServer((request, response) => {
  setTimeout(() => response.end(request.url), 1);
});

function get(path) {
  const [near, far] = duplexPair();
  server.emit('connection', far);
  const answered = (done) => (response) => response.resume().on('end', done);
  return new Promise((done) =>
    http.get({ host: 'a', path, createConnection: () => near }, answered(done)),
  );
}

async function main() {
  await get('/first');
  await get('/second');
  const child = fork(__filename, ['idle']);
  await new Promise((done) => child.on('message', () => child.send('bye')).on('exit', done));
}

if (process.argv[2] === 'idle') {
  process.on('message', () => process.disconnect());
  process.send('hello');
} else {
  main();
}
