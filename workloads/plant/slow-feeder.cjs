// Fills FIFOs after a delay, on orders that come through another FIFO: `fill|serve MS PATH`.
//
// A process of its own, so that the planted server's loop and pool do nothing but wait. It ends
// with the server, whose end closes its standard input, and takes the FIFOs with it.
'use strict';

const fs = require('node:fs');

const [orders, ...folders] = process.argv.slice(2);

function data() {
  return `${JSON.stringify({ writtenNs: Number(process.hrtime.bigint()) })}\n`;
}

function fail(error) {
  if (error) throw error;
}

/** The reader has the file open; opening `r+` never blocks. */
function fill(path, ms) {
  const fd = fs.openSync(path, 'r+');
  setTimeout(() => {
    fs.writeSync(fd, data());
    fs.closeSync(fd);
  }, ms);
}

/** Opening `w` blocks a pool thread here until the reader opens; closing gives it end of file. */
function serve(path, ms) {
  fs.open(path, 'w', (error, fd) => {
    fail(error);
    setTimeout(() => {
      fs.writeSync(fd, data());
      fs.closeSync(fd);
    }, ms);
  });
}

/** Killed, since `exit` would wait for the pool thread that waits for the next order. */
function end() {
  for (const folder of folders) fs.rmSync(folder, { recursive: true, force: true });
  process.kill(process.pid, 'SIGKILL');
}

process.stdin.on('end', end).resume();
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => undefined);

fs.createReadStream(orders, { flags: 'r+' }).on('data', (chunk) => {
  for (const line of chunk.toString().trim().split('\n')) {
    const [order, ms, path] = line.split(' ');
    if (order === 'fill') fill(path, Number(ms));
    else serve(path, Number(ms));
  }
});
