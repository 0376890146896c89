'use strict';
// What the observed process does in `hostile.test.mjs`: everything at once, in an order made up
// from a seed, while recording stops, starts, pauses and goes on; or it ends in an unusual way.

const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const zlib = require('node:zlib');

const [name, out, seed = '1'] = process.argv.slice(2);
const addon = { exports: {} };
process.dlopen(addon, process.env.BOBTAIL_PROBE);
const probe = addon.exports;

let recordings = 0;
const start = () =>
  probe.start({
    path: path.join(out, `${process.pid}-${recordings++}.trace`),
    pid: process.pid,
    thread: 0,
    detail: 'full',
    maxBytes: 8e6,
    chunkBytes: 4096,
    nodeVersion: process.version,
    arch: process.arch,
  });

/** Numbers made up from the seed; the same ones for the same seed. */
let state = Number(seed);
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const turn = () => new Promise((resolve) => setImmediate(resolve));

const server = http.createServer((request, response) => request.resume() && response.end('ok'));
const listening = new Promise((resolve) =>
  server.listen(0, '127.0.0.1', () => resolve(server.address().port)),
);

/** Each may meet any state of the probe; what is under way is left to end whenever it does. */
function deeds(port, underWay) {
  const get = () =>
    new Promise((resolve, reject) =>
      http
        .get({ port, host: '127.0.0.1', agent: false }, (r) => r.resume().on('end', resolve))
        .on('error', reject),
    );
  const begin = (promise) => underWay.push(promise);
  return [
    () => probe.stop() || start(),
    () => probe.pause(),
    () => probe.resume(),
    () => begin(get()),
    () => begin(fs.promises.readFile(__filename)),
    () => begin(new Promise((resolve) => zlib.deflate('x'.repeat(9999), resolve))),
    () => begin(new Promise((resolve) => setTimeout(resolve, random(3)))),
    // A descriptor's number is used again at once, for something of another kind.
    () => fs.closeSync(fs.openSync(__filename)),
    () =>
      begin(
        new Promise((resolve) =>
          net.connect(port, '127.0.0.1').on('connect', function () {
            this.destroy();
            resolve();
          }),
        ),
      ),
    () => probe.inspect(),
  ];
}

const scenarios = {
  async shuffle() {
    start();
    const underWay = [];
    const all = deeds(await listening, underWay);
    for (let n = 0; n < 600; n++) {
      all[random(all.length)]();
      if (random(3) === 0) await turn();
      if (underWay.length > 50) await Promise.all(underWay.splice(0));
    }
    await Promise.all(underWay);
    probe.stop();
    server.close();
    process.stdout.write(`${recordings}\n`);
  },

  async 'exit-inside'() {
    start();
    const port = await listening;
    server.on('request', () => process.exit(7));
    net.connect(port, '127.0.0.1').write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  },

  async 'out-of-memory'() {
    start();
    await listening;
    const kept = [];
    setInterval(() => {
      for (let n = 0; n < 100_000; n++) kept.push({ n, text: `${n}` });
    }, 1);
  },
};

scenarios[name]();
