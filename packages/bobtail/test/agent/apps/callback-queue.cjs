/**
 * A queue of callbacks over one socket that all requests share, written by hand: nothing tells
 * stock Node, nor the agent, whose callback an answer calls. Timers of the requests are decoys.
 */
const { fork } = require('node:child_process');
const { EventEmitter } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');

const waiting = [];
const answers = new EventEmitter().setMaxListeners(0);
let socket;

function ask(line, callback) {
  waiting.push(callback);
  socket.write(`${line}\n`);
}

function onData(chunk) {
  for (const line of String(chunk).trim().split('\n')) {
    waiting.shift()(line);
    answers.emit(line);
  }
}

const routes = {
  '/queue': (response, id) => {
    setTimeout(() => undefined, 10);
    ask(`30 ${id}`, () => response.end('answered'));
  },
  '/emitter': (response, id) => {
    const line = `30 ${id}`;
    setTimeout(() => undefined, 10);
    answers.once(line, () => response.end('emitted'));
    ask(line, () => undefined);
  },
  // A second question, asked by the decoy, before the first is answered.
  '/twice': (response, id) => {
    setTimeout(() => ask(`1 ${id}`, () => undefined), 15);
    ask(`30 ${id}`, () => response.end('first'));
  },
};

const server = http.createServer((request, response) => {
  if (request.url === '/quit') return response.end('bye', () => process.exit(0));
  const [, route, id] = request.url.split('/');
  return routes[`/${route}`](response, id);
});

const env = { ...process.env, BOBTAIL_DISABLED: '1' };
const service = fork(path.join(__dirname, 'line-service.cjs'), { env });
service.once('message', (port) => {
  socket = net.connect(port, '127.0.0.1', () => server.listen(0, '127.0.0.1'));
  socket.on('data', onData);
});
