// Load at a fixed rate over plain sockets; latency counts from when a request was meant to be sent.
//
// Node's own HTTP client costs more than the services do, and it hides its own lateness. Here a
// request's bytes are ready beforehand, and waiting for a connection, or for this very process, is
// part of its latency. Between requests that are close the loop spins: a timer is 1 ms late.
import net from 'node:net';

/** So that who started the service is told before why it ended. */
const TOLD_MS = 1000;
const READ_BYTES = 64 * 1024;
const SPIN_BELOW_MS = 1.6;
const ANSWER_MS_MAX = 3000;
/** A timer is 1 ms late anyhow. */
const LATE_MS_MIN = 2;
/** How often who watches is told of a request that is long unanswered. */
const OVERDUE_EVERY_MS = 20;
const HEAD_END = Buffer.from('\r\n\r\n');

/** Length of the whole response at the start of `bytes`, or 0 while its head is incomplete. */
function responseLength(bytes) {
  const end = bytes.indexOf(HEAD_END);
  if (end < 0) return 0;
  const head = bytes.toString('latin1', 0, end);
  const length = /\r\ncontent-length: (\d+)/i.exec(head);
  if (!length) throw new Error(`a response without content-length: ${head.slice(0, 80)}`);
  return end + HEAD_END.length + Number(length[1]);
}

/** Bytes of a response came; they are only there during this call. */
function receive(connection, chunk) {
  const bytes = connection.received ? Buffer.concat([connection.received, chunk]) : chunk;
  const length = responseLength(bytes);
  if (length === 0 || bytes.length < length) {
    connection.received = bytes === chunk ? Buffer.from(chunk) : bytes;
    return;
  }
  connection.received = null;
  const ok = bytes.toString('latin1', 9, 12) === '200';
  const { done } = connection;
  connection.done = null;
  done(ok, connection);
}

/** Connections that stay open between slices of load, so that no slice pays for connecting. */
export class Connections {
  #free = [];
  #all = [];
  #isClosing = false;

  static async open(port, count) {
    const connections = new Connections();
    for (let i = 0; i < count; i += 1) connections.#add(await connections.#connect(port));
    return connections;
  }

  /** Into one buffer of its own: a new one for each read is most of the garbage of a load. */
  #connect(port) {
    return new Promise((resolve, reject) => {
      const connection = { socket: null, received: null, done: null };
      const onread = {
        buffer: Buffer.allocUnsafe(READ_BYTES),
        callback: (count, buffer) => {
          receive(connection, buffer.subarray(0, count));
          return true;
        },
      };
      const to = { host: '127.0.0.1', port, noDelay: true, onread };
      connection.socket = net.connect(to, () => resolve(connection));
      connection.socket.once('error', reject);
    });
  }

  #add(connection) {
    connection.socket.on('close', () => {
      if (this.#isClosing) return;
      const error = new Error('the service closed a connection of the load');
      setTimeout(() => {
        throw error;
      }, TOLD_MS);
    });
    this.#all.push(connection);
    this.#free.push(connection);
  }

  /** The one that was idle longest: services close what is idle for some seconds. */
  take() {
    return this.#free.shift();
  }

  give(connection) {
    this.#free.push(connection);
  }

  close() {
    this.#isClosing = true;
    for (const { socket } of this.#all) socket.destroy();
  }
}

/** Bytes of a GET of `path` without a body. */
export function requestBytes(path) {
  return Buffer.from(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-user: bench\r\n\r\n`, 'latin1');
}

/** Due times in ms of Poisson arrivals: real clients do not take turns. */
function arrivals(ratePerS, durationMs, random) {
  const due = [];
  let at = 0;
  for (;;) {
    at += (-Math.log(1 - random()) / ratePerS) * 1000;
    if (at > durationMs) return due;
    due.push(at);
  }
}

/**
 * Sends requests at `ratePerS` for `durationMs`, or until `isEnough`, one after the other from
 * `requests`; the same arrivals with the same `random`.
 * Throws a `RangeError` for a load that is none.
 * `onOverdue(ms)` is called while the oldest unanswered request is older than `overdueMs`.
 * @returns `{latenciesMs, dueMs, failed, unanswered, stalls}`; `dueMs` has, by `performance.now`,
 *   when the request of each latency was due, and `stalls` when this very process was late and by
 *   how much, `{fromMs, lateMs}`: it had no core, collected, or was at answers for so long
 */
export function openLoop(connections, load) {
  const { requests, ratePerS, durationMs, random = Math.random, isEnough = () => false } = load;
  const { overdueMs = Number.POSITIVE_INFINITY, onOverdue } = load;
  if (!(ratePerS > 0 && Number.isFinite(durationMs))) {
    throw new RangeError(`${ratePerS} requests per second for ${durationMs} ms are no load`);
  }
  const due = arrivals(ratePerS, durationMs, random);
  const latenciesMs = [];
  const dueMs = [];
  const waiting = [];
  const stalls = [];
  let failed = 0;
  let sent = 0;
  /** When those were due that are under way, the oldest first. */
  const open = new Map();
  let nextLookMs = 0;
  let hasEnded = false;
  return new Promise((resolve) => {
    const startMs = performance.now();
    const end = () => {
      clearTimeout(limit);
      hasEnded = true;
      const unanswered = due.length - latenciesMs.length - failed;
      resolve({ latenciesMs, dueMs, failed, unanswered, stalls });
    };
    let limit = setTimeout(end, durationMs + ANSWER_MS_MAX);
    /** What was sent is all; its answers are waited for. */
    const cutOff = () => {
      due.length = sent;
      clearTimeout(limit);
      if (open.size === 0) end();
      else limit = setTimeout(end, ANSWER_MS_MAX);
    };
    const send = (connection, index) => {
      connection.done = (ok, freed) => {
        // A service that could not keep up answers during another slice: too late to count.
        if (hasEnded) {
          connections.give(freed);
          return;
        }
        if (ok) {
          latenciesMs.push(performance.now() - startMs - due[index]);
          dueMs.push(startMs + due[index]);
        } else failed += 1;
        open.delete(index);
        if (waiting.length) send(freed, waiting.shift());
        else connections.give(freed);
        if (open.size === 0 && sent === due.length) end();
      };
      connection.socket.write(requests[index % requests.length]);
    };
    /** `awaitedMs` is when it was to come, since the start. */
    const step = (awaitedMs) => {
      if (isEnough()) {
        cutOff();
        return;
      }
      const nowMs = performance.now() - startMs;
      const lateMs = nowMs - awaitedMs;
      if (lateMs >= LATE_MS_MIN) stalls.push({ fromMs: startMs + awaitedMs, lateMs });
      while (sent < due.length && due[sent] <= nowMs) {
        const connection = connections.take();
        open.set(sent, due[sent]);
        if (connection) send(connection, sent);
        else waiting.push(sent);
        sent += 1;
      }
      const [oldestMs = nowMs] = open.values();
      if (nowMs - oldestMs > overdueMs && nowMs > nextLookMs) {
        nextLookMs = nowMs + OVERDUE_EVERY_MS;
        onOverdue(nowMs - oldestMs);
      }
      if (sent === due.length) return;
      const gapMs = due[sent] - nowMs;
      const sleepMs = gapMs - SPIN_BELOW_MS + 0.5;
      if (gapMs < SPIN_BELOW_MS) setImmediate(step, nowMs);
      else setTimeout(step, sleepMs, nowMs + sleepMs);
    };
    step(0);
  });
}

/** As many requests as `connections` of them answer in `durationMs`: how much a service can do. */
export function closedLoop(connections, { requests, concurrency, durationMs }) {
  let answered = 0;
  const endMs = performance.now() + durationMs;
  const one = (done) => {
    const connection = connections.take();
    connection.done = (_ok, freed) => {
      answered += 1;
      connections.give(freed);
      if (performance.now() < endMs) one(done);
      else done();
    };
    connection.socket.write(requests[answered % requests.length]);
  };
  const lanes = Array.from({ length: concurrency }, () => new Promise((done) => one(done)));
  return Promise.all(lanes).then(() => answered);
}
