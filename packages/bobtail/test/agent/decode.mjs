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
const MICRO_KINDS = [null, 'promise', 'tick', 'microtask', 'callback', 'agent', 'emitter'];

/** Decodes the records of a byte range that starts in the given state. */
export function decodeRecords(bytes, state) {
  const records = [];
  let at = 0;
  const varint = () => {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
  };
  const time = () => {
    state.lastNs += varint();
    return state.lastNs;
  };
  const open = () => {
    state.current = ++state.event;
    return state.current;
  };
  const closeEvent = () => {
    state.current = 0;
    state.loop = 0;
  };
  const readers = {
    'loop-begin'(low, high) {
      const r = { beginNs: time(), kind: LOOP_KINDS[varint()], handle: varint(), op: 0 };
      r.event = state.loop = open();
      if (high) r.op = varint();
      if (low) Object.assign(r, { readyNs: r.beginNs - varint(), quality: varint() });
      if (low && r.kind === 'pool') r.runNs = varint();
      return r;
    },
    'loop-end': () => {
      closeEvent();
      return { atNs: time() };
    },
    micro(low, high) {
      const r = { kind: MICRO_KINDS[varint()] };
      if (low) r.beginNs = time();
      r.event = open();
      r.registrar = high ? r.event - varint() : 0;
      return r;
    },
    resume(low) {
      const gap = varint();
      state.current = gap === 0xffffffff ? 0 : state.event - gap;
      return { event: state.current, ...(low ? { atNs: time() } : {}) };
    },
    poll: () => {
      closeEvent();
      const r = { enterNs: time(), blockedNs: varint(), ready: varint() };
      return r;
    },
    register(low) {
      const r = { atNs: time(), op: varint(), kind: LOOP_KINDS[varint()], name: varint() };
      if (low) r.dueNs = r.atNs + varint();
      return r;
    },
    write(low) {
      const r = { atNs: time(), handle: varint(), bytes: varint(), unsent: 0 };
      if (low) r.unsent = varint();
      return r;
    },
    'handle-open': () => ({ atNs: time(), handle: varint(), kind: varint(), name: varint() }),
    'handle-close': () => ({ atNs: time(), handle: varint() }),
    source: () => ({ atNs: time(), request: varint(), name: varint() }),
    sink: () => ({ atNs: time(), request: varint(), name: varint(), status: varint() }),
    gc: () => ({ atNs: time(), durationNs: varint(), kind: varint() }),
    location: () => ({ atNs: time(), name: varint() }),
    mark: () => ({ atNs: time(), kind: varint(), name: varint() }),
    work(low, high) {
      const r = { atNs: time(), spanNs: varint(), jitNs: 0, icNs: 0 };
      if (low) r.jitNs = varint();
      if (high) r.icNs = varint();
      return r;
    },
    'not-running'() {
      const r = { atNs: time() };
      return { ...r, endNs: r.atNs - varint(), durationNs: varint(), cause: varint() };
    },
    loss: () => {
      const r = { kind: varint(), count: varint(), events: varint() };
      state.event += r.events;
      return r;
    },
  };
  while (at < bytes.length) {
    const start = at;
    const tag = bytes[at++];
    const type = KINDS[tag & 63];
    if (type === undefined) throw new Error(`bad tag ${tag} at byte ${start}`);
    const owner = state.current;
    const loopBefore = state.loop;
    const record = readers[type]((tag & 64) !== 0, (tag & 128) !== 0);
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
