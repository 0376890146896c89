// One HTTP/1.1 connection of the load, written on a plain socket.
//
// Node's own client cannot tell when it handed the bytes to the kernel; a plain socket writes
// synchronously, so the request's ready time at the server lies between two readings of the clock.
import net from 'node:net';

/** Nanoseconds of CLOCK_MONOTONIC. */
export function nowNs() {
  return Number(process.hrtime.bigint());
}

/** The options of `net.connect` for a port number or the path of a unix socket. */
export function target(where) {
  return /^\d+$/.test(where) ? { host: '127.0.0.1', port: Number(where) } : { path: where };
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export class Connection {
  #socket;
  #received = '';
  #waiting = [];
  /** Characters without which it is not worth to look again. */
  #needed = 0;

  /** Resolves once connected to `where` (a port or a socket path). */
  static open(where) {
    return new Promise((resolve, reject) => {
      const socket = net.connect(target(where), () => resolve(new Connection(socket)));
      socket.setNoDelay(true);
      socket.once('error', reject);
    });
  }

  constructor(socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
    socket.on('error', (error) => this.#fail(error));
  }

  /** Writes `text`; the kernel took it between `sent` and `handed`. */
  #write(text) {
    const sent = nowNs();
    this.#socket.write(text);
    return { sent, handed: nowNs() };
  }

  /** Sends one request and resolves to its marks when the whole response is there. */
  async send({ path, method = 'GET', id, chunks = [], stallMs }) {
    const length = chunks.reduce((sum, { bytes }) => sum + bytes, 0);
    const body = chunks.length ? `Content-Length: ${length}\r\n` : '';
    const marks = this.#write(
      `${method} ${path} HTTP/1.1\r\nHost: planted\r\n${body}X-Planted: ${id}\r\n\r\n`,
    );
    const answered = this.#answer();
    if (stallMs) marks.end = await this.#stall(stallMs);
    for (const [index, { afterMs, bytes }] of chunks.entries()) {
      await sleep(afterMs);
      const { sent, handed } = this.#write('x'.repeat(bytes));
      marks[`chunk${index}Sent`] = sent;
      marks[`chunk${index}Handed`] = handed;
    }
    return [{ id, path, marks, status: await answered }];
  }

  /**
   * Reads the first of a response, and no more for a while. When that is over is told: no earlier
   * can the last byte of a response be taken that is too large for the buffers.
   */
  async #stall(ms) {
    await new Promise((begun) => {
      this.#socket.once('data', () => {
        this.#socket.pause();
        begun();
      });
    });
    await sleep(ms);
    const over = nowNs();
    this.#socket.resume();
    return over;
  }

  /** Sends several requests in one write, as HTTP pipelining does. */
  async pipeline(requests) {
    const text = requests.map(
      ({ path, id }) => `GET ${path} HTTP/1.1\r\nHost: planted\r\nX-Planted: ${id}\r\n\r\n`,
    );
    const answers = requests.map(() => this.#answer());
    const marks = this.#write(text.join(''));
    const statuses = await Promise.all(answers);
    return requests.map(({ path, id }, i) => ({ id, path, marks, status: statuses[i] }));
  }

  close() {
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  #answer() {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #fail(error) {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #take(chunk) {
    this.#received += chunk.toString('latin1');
    while (this.#received.length >= this.#needed) {
      const headEnd = this.#received.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      const head = this.#received.slice(0, headEnd);
      const length = /^content-length: (\d+)/im.exec(head);
      if (!length) throw new Error(`a response without Content-Length: ${head}`);
      const end = headEnd + 4 + Number(length[1]);
      this.#needed = end;
      if (this.#received.length < end) return;
      this.#needed = 0;
      this.#received = this.#received.slice(end);
      this.#waiting.shift().resolve(Number(head.slice(9, 12)));
    }
  }
}
