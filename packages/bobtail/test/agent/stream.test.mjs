/**
 * The byte encoder against bytes worked out by hand from `spec/trace-format.md`.
 */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { decodeRecords } from './decode.mjs';

const { openFake } = createRequire(import.meta.url)('./fake-session.cjs');
const hex = (bytes) => Buffer.from(bytes).toString('hex');

/** Stops the clock: the trace is ahead of it, so every `dt` is 0. */
function stopClock(fake) {
  fake.last[0] = 1e15;
}

test('a micro event of the same request is three bytes and reads no clock', () => {
  const fake = openFake();
  stopClock(fake);
  fake.stream.loopBegin(12, 0, -1, 0);
  fake.stream.micro(1, 1);
  fake.stream.micro(2, 1);
  // LOOP_BEGIN dt 0 kind 12 handle 0; MICRO|registrar promise 2-1; MICRO|registrar tick 3-1
  assert.equal(hex(fake.bytes()), '01000c00' + '830101' + '830202');
  assert.deepEqual([...fake.live.slice(2, 6)], [3, 3, 1, 0]);
});

test('a micro event of unknown registrar, or of another request, has a time', () => {
  const fake = openFake();
  stopClock(fake);
  fake.stream.loopBegin(12, 0, -1, 0);
  fake.context[1] = 7;
  fake.stream.micro(1, 0);
  fake.stream.micro(1, 1);
  assert.equal(hex(fake.bytes()), '01000c00' + '430100' + 'c3010002');
  assert.equal(fake.live[5], 7);
  assert.equal(fake.context[3], 7);
});

test('a micro event outside any loop event opens one first', () => {
  const fake = openFake();
  stopClock(fake);
  fake.stream.micro(3, 0);
  assert.equal(hex(fake.bytes()), '01000c00' + '430300');
  assert.deepEqual([...fake.live.slice(2, 5)], [2, 2, 1]);
});

test('varints, operations and due times', () => {
  const fake = openFake();
  fake.last[0] = 0;
  fake.live[11] = 299;
  const op = fake.stream.register(5, 3, 1000, 20_001_000);
  assert.equal(op, 300);
  // REGISTER|due, dt 1000, op 300, kind 5, name 3, due - time 20000000
  assert.equal(hex(fake.bytes()), '46e807ac02050380dac409');
  assert.equal(fake.last[0], 1000);
});

test('a timer event carries its operation and ready time', () => {
  const fake = openFake();
  fake.last[0] = 1e15;
  fake.context[9] = 4;
  fake.stream.loopBegin(5, 300, 1e15 - 200, 9);
  // LOOP_BEGIN|ready|op, dt 0, kind 5, handle 0, op 300, begin - ready 200, exact
  assert.equal(hex(fake.bytes()), 'c1000500ac02c80100');
  assert.equal(fake.live[5], 4);
});

test('times beyond 31 bits', () => {
  const fake = openFake();
  fake.last[0] = 0;
  fake.stream.register(5, 0, 2 ** 45 + 5, -1);
  const [record] = decodeRecords(fake.bytes(), { lastNs: 0, event: 0, current: 0, loop: 0 });
  assert.equal(record.atNs, 2 ** 45 + 5);
});

test('resume goes back to an event, and to none', () => {
  const fake = openFake();
  stopClock(fake);
  fake.stream.loopBegin(12, 0, -1, 0);
  fake.stream.micro(4, 1);
  fake.stream.resume(1);
  fake.stream.resume(0);
  assert.equal(hex(fake.bytes()), '01000c00' + '830401' + '0401' + '04ffffffff0f');
});

test('source and sink', () => {
  const fake = openFake();
  stopClock(fake);
  fake.stream.loopBegin(12, 0, -1, 0);
  const request = fake.stream.source(5);
  fake.stream.sink(request, 6, 404);
  assert.equal(request, 1);
  assert.equal(hex(fake.bytes()), '01000c00' + '0a000105' + '0b0001069403');
  assert.equal(fake.live[5], 1);
  assert.equal(fake.context[1], 1);
});

test('a record that finds no chunk is left out, and its event keeps its number', () => {
  let ready = false;
  const seen = [];
  const fake = openFake({
    chunkBytes: 256,
    roll: (self) => {
      seen.push(self.live[2]);
      if (ready) self.live[0] = 64;
      return ready;
    },
  });
  stopClock(fake);
  fake.stream.loopBegin(12, 0, -1, 0);
  fake.live[0] = 193;
  fake.stream.micro(1, 1);
  fake.stream.micro(1, 2);
  assert.equal(fake.live[2], 3);
  assert.equal(fake.live[0], 193);
  ready = true;
  fake.stream.micro(1, 3);
  // The chunk is rolled before the event gets its number: the chunk header tells the one before.
  assert.deepEqual(seen, [1, 2, 3]);
  assert.equal(hex(fake.bytes()), '830101');
});

test('nothing is written, numbered or charged while paused', () => {
  const fake = openFake();
  fake.live[13] = 1;
  fake.stream.micro(1, 0);
  fake.stream.loopBegin(5, 1, -1, 0);
  fake.stream.resume(3);
  assert.equal(fake.stream.register(5, 0, 0, -1), 0);
  assert.equal(fake.stream.source(1), 0);
  assert.equal(fake.bytes().length, 0);
  assert.deepEqual([...fake.live.slice(2, 6)], [0, 0, 0, 0]);
});

test('the numbers of events end before they would begin again', () => {
  const fake = openFake();
  fake.live[2] = 0xfffffffa;
  fake.stream.loopBegin(12, 0, -1, 0);
  for (let i = 0; i < 9; i++) fake.stream.micro(1, 0xfffffffa);
  assert.equal(fake.live[2], 0xfffffffd);
  assert.equal(fake.live[13], 1, 'paused for good');
  const marks = decodeRecords(fake.bytes(), { lastNs: 0, event: 0xfffffffa, current: 0, loop: 0 });
  assert.deepEqual(
    marks.map(({ type, event }) => [type, event]),
    [
      ['loop-begin', 0xfffffffb],
      ['micro', 0xfffffffc],
      ['micro', 0xfffffffd],
      ['mark', undefined],
    ],
  );
});

test('the clock follows CLOCK_MONOTONIC', () => {
  const startNs = process.hrtime.bigint();
  const { clockSince } = createRequire(import.meta.url)('../../dist/agent/clock.js');
  const nowNs = clockSince(startNs);
  for (let i = 0; i < 100; i++) {
    const before = Number(process.hrtime.bigint() - startNs);
    const now = nowNs();
    const after = Number(process.hrtime.bigint() - startNs);
    assert.ok(now >= before - 100 && now <= after + 100, `${before} ${now} ${after}`);
  }
});
