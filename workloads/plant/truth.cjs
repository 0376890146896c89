// The server's own account of what was planted: when each planted thing really began and ended.
//
// A nominal delay is no truth on a busy machine: a 40 ms read may take 43 ms. So a planted server
// notes the times itself, on CLOCK_MONOTONIC, and appends them as one JSON line per request to
// $PLANTED_FILE after the response has been handed over, where they disturb nothing on the path.
'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

let requests = 0;
let file = -1;

/** Nanoseconds of CLOCK_MONOTONIC, the same clock in every process of this machine. */
function nowNs() {
  return Number(process.hrtime.bigint());
}

/** How long this thread could have run and did not, in ns since its start; 0 where unknown. */
function runDelayNs() {
  if (!fs.existsSync('/proc/thread-self/schedstat')) return 0;
  return Number(fs.readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[1]);
}

/** How often this process had to leave a processor though it could have gone on. */
function switches() {
  return process.resourceUsage().involuntaryContextSwitches;
}

/** CPU time of this process, in ns: of its loop, where V8 has no threads of its own. */
function cpuNs() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
}

/** What is known about one request. */
class Planted {
  /** @param {import('node:http').IncomingMessage} request */
  constructor(request) {
    this.request = ++requests;
    this.id = Number(request.headers['x-planted'] ?? 0);
    this.method = request.method;
    this.path = request.url;
    this.marks = { begin: nowNs() };
    this.resources = {};
    this.cpu = {};
  }

  /** Runs `body` and notes the CPU time it took under a name. */
  spend(name, body) {
    const beforeNs = cpuNs();
    const result = body();
    this.cpu[name] = (this.cpu[name] ?? 0) + cpuNs() - beforeNs;
    return result;
  }

  /** Marks this moment with a name. */
  note(name) {
    this.marks[name] = nowNs();
  }

  /** Marks the end of this event: a wait that nothing is written for counts from there. */
  noteTurnEnd(name) {
    setImmediate(() => this.note(name));
  }

  /** Marks a moment that somebody else measured, in ns of CLOCK_MONOTONIC. */
  set(name, atNs) {
    this.marks[name] = atNs;
  }

  /** Says what resource a recording must name: `expected.mjs` refers to it by `name`. */
  resource(name, text) {
    this.resources[name] = text;
  }

  /** Ends the response; the sink lies between the marks `end` and `ended`. */
  answer(response, body = 'ok\n') {
    this.note('end');
    response.end(body);
    this.note('ended');
    this.report();
  }

  /** Writes the line; only for servers whose framework ends the response itself. */
  report() {
    if (!process.env.PLANTED_FILE) return;
    if (file < 0) file = fs.openSync(process.env.PLANTED_FILE, 'a');
    fs.writeSync(file, `${JSON.stringify({ pid: process.pid, ...this })}\n`);
  }
}

/** Begins the account of a request; call it first thing, for every request. */
function begin(request) {
  return new Planted(request);
}

/** Burns the CPU for `ms` milliseconds of wall time. */
function spin(ms) {
  const untilNs = nowNs() + ms * 1e6;
  while (nowNs() < untilNs);
}

/** Has the process end by itself when it is told to: V8 writes the rest of its slices then. */
function exitWhenTold() {
  process.once('SIGTERM', () => process.exit(0));
}

/** Listens on an ephemeral port of the loopback, or on the unix socket `onPath`, and says where. */
function listen(server, onPath) {
  const tell = () => {
    const address = server.address();
    process.stdout.write(`listening ${typeof address === 'string' ? address : address.port}\n`);
  };
  if (onPath) server.listen(onPath, tell);
  else server.listen(0, '127.0.0.1', tell);
}

/** A path for a unix socket, in a folder that the harness removes. */
function socketPath(name) {
  const { PLANTED_FILE } = process.env;
  return path.join(PLANTED_FILE ? path.dirname(PLANTED_FILE) : os.tmpdir(), name);
}

module.exports = {
  begin,
  cpuNs,
  exitWhenTold,
  listen,
  nowNs,
  runDelayNs,
  socketPath,
  spin,
  switches,
};
