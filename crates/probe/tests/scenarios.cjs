'use strict';
// What the observed process does in each test of `probe.test.mjs`: it runs on the Node under test,
// loads the addon as Node does, and prints what it did as one line of JSON.

const crypto = require('node:crypto');
const dgram = require('node:dgram');
const dns = require('node:dns');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { promisify } = require('node:util');
const worker = require('node:worker_threads');
const zlib = require('node:zlib');

const { name, out, probe, rest, sleep, spin, start } = require('./observed-process.cjs');

const listen = (server, ...where) =>
  new Promise((resolve) => server.listen(...where, () => resolve(server.address())));
const closed = (emitter) => new Promise((resolve) => emitter.once('close', resolve));

/** Sends requests on one connection, one after another, and waits for each answer. */
async function client(port, count, body = '') {
  const socket = net.connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  for (let sent = 0; sent < count; sent++) {
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await new Promise((resolve) => socket.once('data', resolve));
  }
  socket.end();
  socket.destroy();
  await closed(socket);
}

/** Waits until `isSo()`, turning the loop; who waits too long is killed by the test. */
async function until(isSo) {
  while (!isSo()) await promisify(setImmediate)();
}

const answer = (request, response) => {
  request.resume();
  response.end('ok');
};

const scenarios = {
  ...require('./thread-scenarios.cjs'),

  // Asked for one datagram after the other until it is killed.
  async stamps() {
    start();
    const udp = dgram.createSocket('udp4');
    await new Promise((resolve) => udp.bind(0, '127.0.0.1', resolve));
    udp.on('message', () => setTimeout(() => udp.send('next', udp.address().port), 5));
    udp.send('first', udp.address().port);
    await new Promise(() => {});
  },

  async http([count = '200']) {
    const { mechanisms } = start();
    const server = http.createServer(answer);
    const { port } = await listen(server, 0, '127.0.0.1');
    const clients = 4;
    await Promise.all(Array.from({ length: clients }, () => client(port, +count)));
    server.close();
    return { mechanisms, port, clients, requests: clients * count, inspect: probe.inspect() };
  },

  async pool() {
    start();
    const file = path.join(out, 'data');
    fs.writeFileSync(file, 'x'.repeat(1000));
    const jobs = [];
    const add = (run) => jobs.push(new Promise((resolve) => run(resolve)));
    await sleep(5);
    for (let n = 0; n < 200; n++) add((done) => fs.stat(file, done));
    const taken = path.join(out, 'taken');
    add((done) => fs.mkdir(taken, done));
    for (let n = 0; n < 20; n++) add((done) => crypto.pbkdf2('a', 'b', 100, 16, 'sha1', done));
    for (let n = 0; n < 20; n++) add((done) => crypto.randomBytes(64, done));
    for (let n = 0; n < 20; n++) add((done) => dns.lookup('localhost', done));
    // Jobs are taken in order: when the folder is there, all but the last few stats have ended.
    while (!fs.existsSync(taken));
    spin(60);
    await Promise.all(jobs);
    for (let n = 0; n < 50; n++) {
      const handle = await fs.promises.open(file);
      await handle.read(Buffer.alloc(10), 0, 10, 0);
      await handle.close();
    }
    return { file, inspect: probe.inspect() };
  },

  async hang() {
    start();
    const server = http.createServer(answer);
    const { port } = await listen(server, 0, '127.0.0.1');
    await client(port, 300);
    let jobs = 0;
    setInterval(() => crypto.randomBytes(16, () => jobs++), 1);
    await until(() => jobs >= 20);
    process.stdout.write(`${JSON.stringify({ port, jobs })}\n`);
    await new Promise(() => {});
  },

  async reuse() {
    start();
    const server = net.createServer((socket) => socket.resume().end('bye'));
    const { port } = await listen(server, 0, '127.0.0.1');
    for (let round = 0; round < 100; round++) {
      await Promise.all(
        Array.from({ length: 8 }, () => {
          const socket = net.connect(port, '127.0.0.1');
          socket.on('error', () => {});
          socket.write('hello');
          socket.resume();
          return closed(socket);
        }),
      );
      fs.closeSync(fs.openSync(__filename));
      await promisify(fs.readFile)(__filename);
    }
    server.close();
    await closed(server);
    return { connections: 800 };
  },

  async workers() {
    if (!worker.isMainThread) {
      start({ chunkBytes: 65536 });
      for (let n = 0; n < 300; n++) {
        await promisify(crypto.randomBytes)(8);
        if (n % 50 === 0) await sleep(1);
      }
      worker.parentPort.postMessage('done');
      if (worker.threadId % 2) await new Promise(() => setInterval(() => {}, 1));
      return null;
    }
    if (rest[0] === 'main') start();
    for (let round = 0; round < 4; round++) {
      const workers = Array.from(
        { length: 3 },
        () => new worker.Worker(__filename, { workerData: [name, out] }),
      );
      await Promise.all(
        workers.map(async (thread) => {
          await new Promise((resolve, reject) => {
            thread.once('message', resolve);
            thread.once('error', reject);
          });
          await thread.terminate();
        }),
      );
      await promisify(crypto.randomBytes)(8);
    }
    return { workers: 12 };
  },

  async children() {
    const childProcess = require('node:child_process');
    if (rest[0] === 'echo') {
      process.on('message', (message) => process.send(message));
      return null;
    }
    start();
    for (let n = 0; n < 10; n++) {
      const { stdout } = await promisify(childProcess.exec)('echo hello');
      if (stdout !== 'hello\n') throw new Error(stdout);
      childProcess.execFileSync('true');
    }
    const child = childProcess.fork(__filename, [name, out, 'echo']);
    for (let n = 0; n < 20; n++) {
      child.send(n);
      const back = await new Promise((resolve) => child.once('message', resolve));
      if (back !== n) throw new Error(`${back}`);
    }
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.disconnect();
    await exited;
    return {};
  },

  async cluster() {
    const cluster = require('node:cluster');
    if (cluster.isPrimary) {
      const child = cluster.fork();
      const port = await new Promise((resolve) => child.once('message', resolve));
      await client(port, 20);
      await client(port, 20);
      child.disconnect();
      await closed(child.process);
      return { child: child.process.pid };
    }
    start();
    const { port } = await listen(http.createServer(answer), 0, '127.0.0.1');
    process.send(port);
    return null;
  },

  async ring() {
    const { mechanisms } = start();
    await promisify(fs.stat)(out);
    return { mechanisms, libuv: process.versions.uv };
  },

  async names() {
    const file = path.join(out, `${'long'.repeat(5)}.txt`);
    fs.writeFileSync(file, 'text');
    process.chdir(out);
    const short = 'short.txt';
    fs.writeFileSync(short, 'text');
    start();
    const deflated = promisify(zlib.deflate)('text');
    const zstd = typeof zlib.zstdCompress === 'function';
    if (zstd) await promisify(zlib.zstdCompress)('text');
    await Promise.all([
      deflated,
      promisify(zlib.brotliCompress)('text'),
      promisify(crypto.scrypt)('password', 'salt', 16),
      promisify(crypto.hkdf)('sha512', 'key', 'salt', 'info', 16),
      promisify(crypto.generateKeyPair)('rsa', { modulusLength: 1024 }),
      promisify(fs.readFile)(file),
      promisify(fs.readFile)(short),
      fs.promises.readFile(file),
    ]);
    // More than the paths of a class that are proven before they are read directly.
    const reads = 100;
    for (let n = 1; n < reads; n++) await fs.promises.readFile(file);
    return { major: Number.parseInt(process.versions.node, 10), file, short, zstd, reads };
  },

  async writes([count = '7']) {
    const { startNs } = start();
    const spans = { server: [], client: [] };
    const body = Buffer.alloc(16e6);
    const nowNs = () => Number(process.hrtime.bigint() - startNs);
    const write = (side, socket) => {
      const askedNs = nowNs();
      socket.write(body);
      spans[side].push([askedNs, nowNs()]);
    };
    const server = net.createServer((socket) => {
      // The client leaves early.
      write(
        'server',
        socket.resume().once('error', () => socket.destroy()),
      );
    });
    const { port } = await listen(server, 0, '127.0.0.1');
    for (let n = 0; n < +count; n++) {
      const socket = net.connect(port, '127.0.0.1');
      await new Promise((resolve) => socket.once('data', resolve));
      write('client', socket);
      socket.destroy();
    }
    server.close();
    return { spans };
  },

  // Responses larger than the buffers of the kernel: one in one piece and empty ends of two others,
  // of which one waits behind what is unsent. The client reads when all are written.
  async unsent() {
    start();
    const bytes = 16 << 20;
    const sockets = [];
    const server = net.createServer((socket) => sockets.push(socket));
    const { port } = await listen(server, 0, '127.0.0.1');
    const clients = Array.from({ length: 2 }, () => net.connect(port, '127.0.0.1').pause());
    await until(() => sockets.length === 2);
    const [large, empty] = sockets;
    large.write(Buffer.alloc(bytes));
    large.end('end');
    empty.write('');
    empty.end('all');
    await sleep(20);
    let received = 0;
    clients[0].on('data', (data) => (received += data.length));
    for (const socket of clients) socket.resume();
    await until(() => received === bytes + 3);
    for (const socket of clients) socket.destroy();
    server.close();
    return { bytes: bytes + 3 };
  },

  async sockets() {
    start();
    const unix = path.join(out, 'socket');
    const server = net.createServer((socket) => socket.on('data', (data) => socket.write(data)));
    await listen(server, unix);
    const socket = net.connect(unix);
    for (let n = 0; n < 20; n++) {
      socket.write('ping');
      await new Promise((resolve) => socket.once('data', resolve));
    }
    socket.destroy();
    server.close();
    const udp = dgram.createSocket('udp4');
    await new Promise((resolve) => udp.bind(0, '127.0.0.1', resolve));
    for (let n = 0; n < 20; n++) {
      udp.send('ping', udp.address().port, '127.0.0.1');
      await new Promise((resolve) => udp.once('message', resolve));
    }
    udp.close();
    return { unix };
  },

  // Many small messages, then bodies until a read has filled libuv's buffer.
  async upload() {
    start();
    const FULL = 65_536;
    const reads = [];
    const server = net.createServer((socket) => {
      const own = [];
      reads.push(own);
      socket.on('data', (data) => {
        own.push(data.length);
        if (data.length < 10) socket.write(data);
      });
    });
    const { port } = await listen(server, 0, '127.0.0.1');
    const socket = net.connect(port, '127.0.0.1');
    for (let n = 0; n < 20; n++) {
      socket.write('ping');
      await new Promise((resolve) => socket.once('data', resolve));
    }
    socket.end();
    const body = Buffer.alloc(300_000);
    while (!reads.some((own) => own.includes(FULL))) {
      await closed(net.connect(port, '127.0.0.1').resume().end(body));
    }
    server.close();
    await closed(server);
    return { reads, full: FULL };
  },

  // A child writes to one socket, and to two others while the first is served.
  async busy() {
    start();
    const [unix, begun, written] = ['socket', 'begun', 'written'].map((file) =>
      path.join(out, file),
    );
    const server = net.createServer((socket) => {
      socket.write('accepted');
      socket.on('data', () => {
        fs.writeFileSync(begun, '');
        while (!fs.existsSync(written));
        spin(200);
        socket.end('served');
      });
    });
    await listen(server, unix);
    const childProcess = require('node:child_process');
    const script = `
      const fs = require('node:fs');
      const net = require('node:net');
      const [unix, begun, written] = process.argv.slice(1);
      const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const accepted = () => new Promise((resolve) => {
        const socket = net.connect(unix).once('data', () => resolve(socket));
      });
      (async () => {
        const [first, ...others] = [await accepted(), await accepted(), await accepted()];
        first.resume().write('x');
        while (!fs.existsSync(begun)) await sleep(2);
        for (const socket of others) {
          await sleep(10);
          socket.resume().write('x');
        }
        fs.writeFileSync(written, '');
      })();`;
    const execFile = promisify(childProcess.execFile);
    await execFile(process.execPath, ['-e', script, unix, begun, written]);
    server.close();
    return {};
  },

  async refused() {
    start();
    const server = net.createServer();
    const { port } = await listen(server, 0, '127.0.0.1');
    server.close();
    await closed(server);
    const socket = net.connect(port, '127.0.0.1');
    await new Promise((resolve) => socket.once('error', resolve));
    return { port };
  },
};

scenarios[name](rest).then(
  (result) => {
    if (!result || !worker.isMainThread) return;
    process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
  },
  (error) => {
    process.stderr.write(`${error.stack}\n`);
    process.exit(1);
  },
);
