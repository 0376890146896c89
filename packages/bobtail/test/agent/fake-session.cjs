/**
 * A session of plain ArrayBuffers for tests of the encoder, which needs no real file.
 */

const { provideSession } = require('../../dist/agent/session.js');
const STREAM = require.resolve('../../dist/agent/stream.js');

const LIVE_OFFSET = 1024;
const CHUNK_HEADER = 64;

/** A fresh stream over buffers of `chunkBytes`; `rolls` says what each call of roll() answers. */
exports.openFake = ({ chunkBytes = 4096, roll = () => false, flush = () => undefined } = {}) => {
  const session = {
    live: new ArrayBuffer(4096),
    ring: new ArrayBuffer(chunkBytes),
    context: new ArrayBuffer(4 * 65536),
    startNs: process.hrtime.bigint(),
    mechanisms: [],
    roll: () => roll(fake),
    flush: () => flush(fake),
    intern: () => 1,
  };
  const live = new Uint32Array(session.live, LIVE_OFFSET, 32);
  live[0] = CHUNK_HEADER;
  live[1] = chunkBytes - 64;
  const fake = {
    live,
    last: new Float64Array(session.live, LIVE_OFFSET + 32, 1),
    context: new Uint32Array(session.context),
    /** The bytes written so far. */
    bytes: () => new Uint8Array(session.ring).slice(CHUNK_HEADER, live[0]),
  };
  provideSession(session);
  delete require.cache[STREAM];
  fake.stream = require(STREAM);
  return fake;
};
