/** Timers of the application, and timers made inside Node, due in the same turn of the loop. */
const http = require('node:http');
const net = require('node:net');

let interval;
let periods = 0;

function block(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Registers an operation that has a name in the trace, in whatever event runs now. */
const leaveMark = (delay) => clearTimeout(setTimeout(() => undefined, delay));

function timeout(delay, mark) {
  const signal = AbortSignal.timeout(delay);
  signal.addEventListener('abort', () => leaveMark(mark));
  return signal;
}

const routes = {
  '/interval'(response) {
    interval = setInterval(() => {
      periods += 1;
      leaveMark(7000);
    }, 2);
    response.end();
  },
  '/periods'(response) {
    const wait = () => (periods < 5 ? setTimeout(wait, 1) : response.end());
    wait();
  },
  '/strange'(response) {
    clearInterval(interval);
    const socket = new net.Socket().setTimeout(13).on('timeout', () => leaveMark(7013));
    const signals = [timeout(10, 7010), timeout(11, 7011), timeout(11, 7012)];
    setTimeout(() => leaveMark(8010), 10);
    // Two in one list, with a strange one before, between and behind.
    const more = timeout(10, 7014);
    setTimeout(() => leaveMark(8011), 10);
    const last = timeout(10, 7015);
    setTimeout(() => response.end(), 40);
    block(15);
    return [socket, signals, more, last];
  },
  '/quit'(response) {
    response.end('bye', () => process.exit(0));
  },
};

const server = http.createServer((request, response) => routes[request.url](response));
server.listen(0, '127.0.0.1');
