/** Requests of every protocol, in and out: each is complete and says what it waited for. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { nodes } from './nodes.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';

const { explain: analyzeRequest } = createRequire(import.meta.url)('../../dist/index.js');
const ca = readFileSync(fixture('localhost.pem'));
const TIMES = 4;
/** What the upstream service waits; its timer may fire a millisecond early. */
const UPSTREAM_MS = 5;

/** Body of one answer of an HTTP/1.1 server. */
function ask(module, port, path) {
  const options = { host: '127.0.0.1', port, path, ca, servername: 'localhost', agent: false };
  return new Promise((done, fail) => {
    const answered = async (response) => done(Buffer.concat(await response.toArray()).toString());
    module.get(options, answered).on('error', fail);
  });
}

/** Bodies of one answer of an HTTP/2 server for each path, all at the same time. */
async function ask2(port, paths) {
  const session = http2.connect(`https://localhost:${port}`, { ca });
  const bodies = await Promise.all(
    paths.map(async (path) => {
      const body = await session.request({ ':path': path }).toArray();
      return Buffer.concat(body).toString();
    }),
  );
  await new Promise((done) => session.close(done));
  return bodies;
}

/** Sends a message, waits for its echo, and so on. */
async function echo(port, messages) {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`);
  const next = (event) => new Promise((done) => socket.once(event, done));
  await next('open');
  const answers = [];
  for (const message of messages) {
    const answer = next('message');
    socket.send(message);
    answers.push(String(await answer));
  }
  const closed = next('close');
  socket.close();
  await closed;
  return answers;
}

async function startUpstream(test) {
  const upstream = http.createServer((_, response) => {
    setTimeout(() => response.end('answer'), UPSTREAM_MS);
  });
  await new Promise((done) => upstream.listen(0, '127.0.0.1', done));
  test.after(() => {
    upstream.closeAllConnections();
    upstream.close();
  });
  return upstream.address().port;
}

/** Total of what a request waited for this resource. */
function waited(segments, resource) {
  const own = segments.filter((one) => one.kind === 'io' && resource.test(one.resource));
  return own.reduce((sum, { durationNs }) => sum + durationNs, 0);
}

const OPTIONS = [
  ['', []],
  [' with --no-async-context-frame', ['--no-async-context-frame']],
  [' with --experimental-async-context-frame', ['--experimental-async-context-frame']],
];

/** Which flags choose how AsyncLocalStorage works, by the version that knows them. */
const known = { 22: [0, 2], 24: [0, 1] };

for (const { path, version } of nodes) {
  const variants = known[Number.parseInt(version.slice(1), 10)] ?? [0];
  for (const [name, flags] of variants.map((variant) => OPTIONS[variant])) {
    test(`${version}${name}: every protocol, in and out`, async (t) => {
      const upstream = await startUpstream(t);
      const command = [path, ...flags, fixture('protocols.cjs'), String(upstream)];
      const service = await startRecording(t, command);
      const [, https1, https2] = /https (\d+) http2 (\d+)/.exec(await service.until('listening'));
      for (let i = 0; i < TIMES; i += 1) {
        const outgoing = ['/fetch', '/undici'].map((route) => ask(http, service.port, route));
        assert.deepEqual(await Promise.all(outgoing), ['/fetch', '/undici']);
        assert.equal(await ask(https, https1, '/tls'), '/tls');
        assert.deepEqual(await ask2(https2, ['/stream', '/stream']), ['/stream', '/stream']);
      }
      assert.deepEqual(await echo(service.port, ['one', 'two']), ['echo one', 'echo two']);
      const { code, signal, stderr } = await service.end('SIGTERM');
      assert.deepEqual({ code, signal }, { code: null, signal: 'SIGTERM' }, stderr);

      const { requests, losses, run } = await reportOf(service.folder);
      const { count, complete, inferred, unfinished } = requests;
      const all = { count: 5 * TIMES, complete: 5 * TIMES, inferred: 0, unfinished: 0 };
      assert.deepEqual({ count, complete, inferred, unfinished }, all);
      assert.deepEqual({ losses, pids: run.processes.length }, { losses: {}, pids: 1 });
      const asked = new RegExp(`^127\\.0\\.0\\.1:${upstream}$`);
      const expected = {
        'GET /fetch': [asked, UPSTREAM_MS - 1],
        'GET /undici': [asked, UPSTREAM_MS - 1],
        // Due 3 ms after the turn of the loop began, so perhaps when it is set.
        'GET /tls': [/^timer 3ms$/, 0],
        'GET /stream': [/^timer 3ms$/, 0],
      };
      for (let slowest = 1; slowest <= count; slowest += 1) {
        const { route, events, segments } = await analyzeRequest(service.folder, { slowest });
        const [resource, ms] = expected[route];
        const text = `${route} ${resource}: ${JSON.stringify(segments)}`;
        assert.ok(
          events.some((one) => one.onPath && resource.test(one.resource)),
          text,
        );
        assert.ok(waited(segments, resource) >= ms * 1e6, text);
      }
    });
  }
}
