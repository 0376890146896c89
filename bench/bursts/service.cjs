// Something of each kind that is recorded, so many times over: bytes through a socket, promises,
// ticks, immediates and inline-cache misses. Nothing of it depends on how fast the machine is.
//
//   node service.cjs TIMES
'use strict';
const net = require('node:net');

const times = Number(process.argv[2]);
// Long enough after the start for the first burst to be over.
const SETTLE_MS = 1_000;

let sum = 0;

function misses(turn) {
  for (let n = 0; n < 8; n += 1) sum += { [`p${turn}_${n}`]: 0, x: n }.x;
}

async function serve(socket, turn) {
  misses(turn);
  await null;
  await new Promise((resolve) => process.nextTick(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  socket.write('y');
}

const server = net.createServer((socket) => {
  let turn = 0;
  socket.on('data', () => {
    turn += 1;
    serve(socket, turn);
  });
});
server.listen(0, '127.0.0.1', () => {
  setTimeout(() => {
    const client = net.connect(server.address().port, '127.0.0.1', () => client.write('x'));
    let left = times;
    client.on('data', () => {
      left -= 1;
      if (left === 0) process.exit(sum > 0 ? 0 : 1);
      client.write('x');
    });
  }, SETTLE_MS);
});
