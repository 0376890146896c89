/**
 * A reader of trace files for these tests, written from `spec/trace-format.md` alone.
 *
 * Not the Rust decoder, so that a misreading of the format by the writer is not repeated here.
 */

import { readFileSync } from 'node:fs';

const LIVE = 1024;
const KINDS = [
  null,
  'loop-begin',
  'loop-end',
  'micro',
  'resume',
  'poll',
  'register',
  'write',
  'handle-open',
  'handle-close',
  'source',
  'sink',
  'gc',
  'location',
  'mark',
  'loss',
  'work',
  'not-running',
];
const LOOP_KINDS = [
  null,
  'read',
  'accept',
  'connect',
  'pool',
  'timer',
  'immediate',
  'signal',
  'child',
  'async',
  'message',
  'poll',
  'other',
  'udp',
  'timers',
  'immediates',
  'close',
];
const GC_CAUSES = ['heap', 'asked', 'external', 'everything'];
const MICRO_KINDS = [null, 'promise', 'tick', 'microtask', 'callback', 'agent', 'emitter'];

/** A place in the bytes of records, and the state of the stream there. */
class Cursor {
  constructor(bytes, state) {
    this.bytes = bytes;
    this.state = state;
    this.at = 0;
  }

  varint() {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  }

  time() {
    this.state.lastNs += this.varint();
    return this.state.lastNs;
  }

  /** So many numbers, one after the other, under these names. */
  numbers(...names) {
    return Object.fromEntries(names.map((name) => [name, this.varint()]));
  }

  openEvent() {
    this.state.current = ++this.state.event;
    return this.state.current;
  }

  closeEvent() {
    this.state.current = 0;
    this.state.loop = 0;
  }
}

/** The fields of each kind; `low` and `high` are the two flags of the tag. */
const READERS = {
  'loop-begin'(c, low, high) {
    const r = { beginNs: c.time(), kind: LOOP_KINDS[c.varint()], handle: c.varint(), op: 0 };
    r.event = c.state.loop = c.openEvent();
    if (high) r.op = c.varint();
    if (low) Object.assign(r, { readyNs: r.beginNs - c.varint(), quality: c.varint() });
    if (low && r.kind === 'pool') r.runNs = c.varint();
    return r;
  },
  'loop-end'(c) {
    c.closeEvent();
    return { atNs: c.time() };
  },
  micro(c, low, high) {
    const r = { kind: MICRO_KINDS[c.varint()] };
    if (low) r.beginNs = c.time();
    r.event = c.openEvent();
    r.registrar = high ? r.event - c.varint() : 0;
    return r;
  },
  resume(c, low) {
    const gap = c.varint();
    c.state.current = gap === 0xffffffff ? 0 : c.state.event - gap;
    return { event: c.state.current, ...(low ? { atNs: c.time() } : {}) };
  },
  poll(c) {
    c.closeEvent();
    return { enterNs: c.time(), ...c.numbers('blockedNs', 'ready') };
  },
  register(c, low) {
    const r = { atNs: c.time(), op: c.varint(), kind: LOOP_KINDS[c.varint()], name: c.varint() };
    if (low) r.dueNs = r.atNs + c.varint();
    return r;
  },
  write(c, low) {
    const r = { atNs: c.time(), ...c.numbers('handle', 'bytes'), unsent: 0 };
    if (low) r.unsent = c.varint();
    return r;
  },
  'handle-open': (c) => ({ atNs: c.time(), ...c.numbers('handle', 'kind', 'name') }),
  'handle-close': (c) => ({ atNs: c.time(), ...c.numbers('handle') }),
  source: (c) => ({ atNs: c.time(), ...c.numbers('request', 'name') }),
  sink: (c) => ({ atNs: c.time(), ...c.numbers('request', 'name', 'status') }),
  gc(c, low, high) {
    const r = { atNs: c.time(), ...c.numbers('durationNs', 'kind'), cause: 'heap', caller: null };
    if (low) r.cause = GC_CAUSES[c.varint()];
    if (high) r.caller = c.numbers('function', 'name', 'line', 'column');
    return r;
  },
  location: (c) => ({ atNs: c.time(), ...c.numbers('function', 'name', 'line', 'column') }),
  mark: (c) => ({ atNs: c.time(), ...c.numbers('kind', 'name') }),
  work(c, low, high) {
    const r = { atNs: c.time(), spanNs: c.varint(), jitNs: 0, icNs: 0 };
    if (low) r.jitNs = c.varint();
    if (high) r.icNs = c.varint();
    return r;
  },
  'not-running'(c) {
    const atNs = c.time();
    return { atNs, endNs: atNs - c.varint(), ...c.numbers('durationNs', 'cause') };
  },
  loss(c) {
    const r = c.numbers('kind', 'count', 'events');
    c.state.event += r.events;
    return r;
  },
};

/** Decodes the records of a byte range that starts in the given state. */
export function decodeRecords(bytes, state) {
  const records = [];
  const cursor = new Cursor(bytes, state);
  while (cursor.at < bytes.length) {
    const start = cursor.at;
    const tag = bytes[cursor.at++];
    const type = KINDS[tag & 63];
    if (type === undefined) throw new Error(`bad tag ${tag} at byte ${start}`);
    const owner = state.current;
    const loopBefore = state.loop;
    const record = READERS[type](cursor, (tag & 64) !== 0, (tag & 128) !== 0);
    if (type === 'micro' && loopBefore === 0) throw new Error(`micro outside at byte ${start}`);
    records.push({ type, owner, ...record });
  }
  return records;
}

/** Reads a whole trace file: `{ header, live, strings, records, usedBytes }`. */
export function readTrace(path) {
  const file = readFileSync(path);
  const u32 = (at) => file.readUInt32LE(at);
  if (file.toString('latin1', 0, 8) !== 'BOBTAIL\n') throw new Error(`not a trace: ${path}`);
  const header = {
    stringsBytes: u32(16),
    chunkBytes: u32(20),
    ringSlots: u32(24),
    pid: u32(32),
    thread: u32(36),
    detail: u32(40),
  };
  const live = Array.from({ length: 32 }, (_, i) => u32(LIVE + 4 * i));
  const strings = readStrings(file, live[6]);
  const chunks = [];
  for (let at = 4096 + header.stringsBytes; at + 64 <= file.length; at += header.chunkBytes) {
    if (u32(at) === 0x4b4e4843 && file.readBigUInt64LE(at + 8) > 0n) {
      chunks.push({ at, number: Number(file.readBigUInt64LE(at + 8)) });
    }
  }
  chunks.sort((a, b) => a.number - b.number);
  const records = [];
  let usedBytes = 0;
  for (const { at, number } of chunks) {
    const slot = ((number - 1) % header.ringSlots) * header.chunkBytes;
    const used = u32(at + 4) || live[0] - slot;
    usedBytes += used;
    records.push(
      ...decodeRecords(file.subarray(at + 64, at + used), {
        lastNs: file.readDoubleLE(at + 16),
        event: u32(at + 24),
        current: u32(at + 28),
        loop: u32(at + 32),
      }),
    );
  }
  for (const record of records) {
    if (record.name !== undefined) record.text = strings[record.name] ?? '';
  }
  return { header, live, strings, records, usedBytes };
}

function readStrings(file, used) {
  const strings = [''];
  let at = 4096;
  while (at < 4096 + used) {
    let length = 0;
    let shift = 0;
    let byte;
    do {
      byte = file[at++];
      length |= (byte & 127) << shift;
      shift += 7;
    } while (byte > 127);
    strings.push(file.toString('utf8', at, at + length));
    at += length;
  }
  return strings;
}
