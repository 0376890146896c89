/**
 * Sources, sinks, routes and their causes, in traces of real servers.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { test } from 'node:test';
import { causes, get, json, nodes, requests, run, serve, traces } from './nodes.mjs';

/** The requests of the only trace of a recording, without the one that ends the server. */
function recorded({ folder }) {
  const [trace, ...more] = traces(folder);
  assert.equal(more.length, 0);
  return { trace, all: requests(trace).filter(({ name }) => name !== 'GET /quit') };
}

/** A timer registered after it was due (a collection between) has its registration as due time. */
function readyWhenDue(trace, timers) {
  const registered = trace.records.filter((r) => r.type === 'register');
  const operations = new Map(registered.map((r) => [r.op, r]));
  for (const { op, readyNs } of timers) {
    const { atNs, dueNs } = operations.get(op);
    assert.equal(Math.max(readyNs, atNs), dueNs, `ready ${readyNs}, registered ${atNs}`);
  }
}

const facts = (all) => all.map(({ name, route, status }) => [name, route, status]);

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
  const on = (name, body) => test(`${name} (${version})`, body);

  on('plain http: names without query, patterns, status', async () => {
    const end = await serve(node, 'plain.cjs', async (port) => {
      assert.equal((await get(port, '/slow?secret=1')).body, 'slow');
      assert.equal(
        (await get(port, '/orders/123/0f8fad5b-d9cb-469f-a165-70867728950e')).status,
        404,
      );
    });
    const { trace, all } = recorded(end);
    assert.deepEqual(facts(all), [
      ['GET /slow', 'GET /slow', 200],
      ['GET /orders/:id/:id', 'GET /orders/:id/:id', 404],
    ]);
    assert.equal(end.stderr, '');
    const text = trace.strings.join(' ');
    assert.ok(!text.includes('secret'), text);
  });

  on('plain http: the sink is caused by the source', async () => {
    const end = await serve(node, 'plain.cjs', async (port) => {
      await Promise.all(['/slow', '/await', '/slow', '/await'].map((path) => get(port, path)));
    });
    const { trace, all } = recorded(end);
    assert.equal(all.length, 4);
    for (const { source, sink } of all) {
      const chain = causes(trace, sink.owner);
      assert.ok(chain.includes(source.owner), `${source.text}: ${chain} without ${source.owner}`);
      assert.ok(sink.atNs - source.atNs > 1.9e6, `${sink.atNs - source.atNs} ns`);
    }
    const timers = trace.records.filter((r) => r.type === 'loop-begin' && r.kind === 'timer');
    assert.ok(timers.length >= 4);
    readyWhenDue(trace, timers);
  });

  on('each timer is ready when due, though it was registered late', async () => {
    const end = await serve(node, 'plain.cjs', (port) => get(port, '/many'));
    const { trace } = recorded(end);
    const timers = trace.records.filter((r) => r.type === 'loop-begin' && r.kind === 'timer');
    assert.ok(timers.length > 1000, `${timers.length} timers`);
    readyWhenDue(trace, timers);
  });

  on('native code and JavaScript find the same due time of a timer', async () => {
    // One after the other: Node schedules a list again later than due when one before it ran long.
    const end = await serve(node, 'plain.cjs', async (port) => {
      for (let i = 0; i < 5; i++) await get(port, '/slow');
    });
    const { trace } = recorded(end);
    const begins = trace.records.filter((r) => r.type === 'loop-begin');
    const pairs = begins
      .filter(({ kind }) => kind === 'timers')
      .map((list) => [list, begins.find(({ event }) => event === list.event + 1)])
      .filter(([, timer]) => timer?.kind === 'timer');
    assert.equal(pairs.length, 5);
    for (const [list, timer] of pairs) {
      assert.ok(Math.abs(timer.readyNs - list.readyNs) <= 1e6, `${timer.readyNs} ${list.readyNs}`);
    }
  });

  on('plain http: a body, and end() called twice', async () => {
    const end = await serve(node, 'plain.cjs', async (port) => {
      const body = 'x'.repeat(300_000);
      assert.equal((await get(port, '/body', { method: 'POST', body })).body, '300000');
      assert.equal((await get(port, '/twice')).body, 'once');
    });
    const { trace, all } = recorded(end);
    assert.deepEqual(facts(all), [
      ['POST /body', 'POST /body', 200],
      ['GET /twice', 'GET /twice', 200],
    ]);
    assert.equal(trace.records.filter(({ type }) => type === 'sink').length, 3);
  });

  on('keep-alive and pipelining: one source event per request', async () => {
    const end = await serve(node, 'plain.cjs', async (port) => {
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
      for (let i = 0; i < 5; i++) await get(port, '/await', { agent });
      agent.destroy();
      const answers = await pipeline(port, ['/slow', '/await', '/twice']);
      assert.equal(answers, 3);
    });
    const { all } = recorded(end);
    assert.equal(all.length, 8);
    assert.equal(new Set(all.map(({ source }) => source.owner)).size, 8);
    assert.ok(all.every(({ status }) => status === 200));
  });

  on('a crash leaves a readable trace and the exit code', async () => {
    const end = await serve(node, 'plain.cjs', async (port) => {
      await get(port, '/slow');
      await get(port, '/crash/7').catch(() => 'reset');
    });
    const { all } = recorded(end);
    assert.deepEqual(facts(all), [
      ['GET /slow', 'GET /slow', 200],
      ['GET /crash/:id', undefined, undefined],
    ]);
    assert.match(end.stderr, /planted crash/);
    assert.equal(end.code, 1);
  });

  for (const framework of ['express', 'express4']) {
    on(`${framework}: routes with the path of the router`, async () => {
      const drive = async (port) => {
        await get(port, '/users/7?q=1');
        await get(port, '/users/8/fail');
        await get(port, '/regex');
        await get(port, '/nowhere/55');
      };
      const end = await serve(node, 'express.cjs', drive, { env: { FRAMEWORK: framework } });
      const { trace, all } = recorded(end);
      assert.deepEqual(
        all.map(({ route, status }) => [route, status]),
        [
          ['GET /users/:id', 200],
          ['GET /users/:id/fail', 500],
          ['GET /^\\/re(gex)?$/', 200],
          ['GET /nowhere/:id', 404],
        ],
      );
      assert.ok(causes(trace, all[0].sink.owner).includes(all[0].source.owner));
    });
  }

  for (const framework of ['fastify', 'fastify4']) {
    on(`${framework}: routes`, async () => {
      const drive = async (port) => {
        await get(port, '/users/7');
        const headers = { 'content-type': 'application/json' };
        await get(port, '/body', { method: 'POST', headers, body: '{"a":1}' });
        await get(port, '/nowhere/55');
      };
      const end = await serve(node, 'fastify.cjs', drive, { env: { FRAMEWORK: framework } });
      const { trace, all } = recorded(end);
      assert.deepEqual(
        all.map(({ route, status }) => [route, status]),
        [
          ['GET /users/:id', 200],
          ['POST /body', 200],
          ['GET /nowhere/:id', 404],
        ],
      );
      assert.ok(causes(trace, all[0].sink.owner).includes(all[0].source.owner));
    });
  }

  on('koa: routes', async () => {
    const end = await serve(node, 'koa.cjs', async (port) => {
      await get(port, '/users/7');
      await get(port, '/nowhere/55');
    });
    assert.deepEqual(
      recorded(end).all.map(({ route, status }) => [route, status]),
      [
        ['GET /users/:id', 200],
        ['GET /nowhere/:id', 404],
      ],
    );
  });

  on('an ES module as entry', async () => {
    const end = await serve(node, 'esm.mjs', (port) => get(port, '/esm'));
    const { trace, all } = recorded(end);
    assert.deepEqual(facts(all), [['GET /esm', 'GET /esm', 200]]);
    const chain = causes(trace, all[0].sink.owner);
    assert.ok(chain.includes(all[0].source.owner), String(chain));
    const opened = chain.map((event) => trace.records.find((r) => r.event === event));
    const kinds = opened.slice(0, 3).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['tick', 'immediate', 'timer']);
  });

  on('promises of timers run in events of their own', async () => {
    const end = await serve(node, 'esm.mjs', (port) => get(port, '/esm'));
    const { trace } = recorded(end);
    const at = trace.records.findIndex((r) => r.type === 'source');
    const registers = trace.records.slice(at).filter((r) => r.type === 'register');
    // The first timer of 2 ms is the decoy, the second immediate is not a promise.
    for (const [name, index] of [
      ['timer 2ms', 1],
      ['immediate', 0],
      ['timer 3ms', 0],
    ]) {
      const operation = registers.filter(({ text }) => text === name)[index];
      const event = trace.records.find((r) => r.type === 'loop-begin' && r.op === operation.op);
      assert.equal(event?.kind, operation.kind, name);
      if (event.kind === 'timer') assert.equal(event.readyNs, operation.dueNs);
      const next = trace.records.find((r) => r.type === 'micro' && r.event > event.event);
      assert.equal(next.registrar, operation.owner, `${name}: the await goes on in it`);
    }
  });

  on('cluster workers record each their own', async () => {
    const end = await serve(node, 'cluster.cjs', async (port) => {
      // The second worker may listen later than the first one serves.
      const served = new Set();
      while (served.size < 2) served.add((await get(port, '/who')).body);
    });
    const served = traces(end.folder).map((trace) => requests(trace).length);
    assert.equal(served.filter((count) => count > 0).length, 2, String(served));
  });

  on('a worker thread that listens is recorded, its main thread is not', async () => {
    const end = await serve(node, 'worker.cjs', (port) => get(port, '/in-worker'));
    const [trace, ...more] = traces(end.folder);
    assert.equal(more.length, 0);
    assert.equal(trace.header.thread, 1);
    assert.equal(requests(trace)[0].route, 'GET /in-worker');
    assert.equal(json(end.folder, `process-${end.pid}-1.json`).thread, 1);
  });

  on('http2: streams of both APIs', async () => {
    const drive = async (port) => {
      const session = http2.connect(`http://127.0.0.1:${port}`);
      await Promise.all(['/stream/1', '/compat'].map((path) => fetch2(session, path)));
      await fetch2(session, '/quit').catch(() => 'closed');
      session.destroy();
    };
    const end = await serve(node, 'http2.cjs', drive, { quit: async () => undefined });
    const { trace, all } = recorded(end);
    assert.deepEqual(facts(all), [
      ['GET /stream/:id', 'GET /stream/:id', 202],
      ['GET /compat', 'GET /compat', 201],
    ]);
    for (const { source, sink } of all) {
      assert.ok(causes(trace, sink.owner).includes(source.owner), source.text);
      const arrived = trace.records.find((r) => r.event === source.owner);
      assert.equal(arrived.type === 'loop-begin' || arrived.registrar > 0, true);
    }
  });

  on('a request that waited for a socket of an agent goes on as its own', async () => {
    const end = await serve(node, 'outgoing.cjs', async (port) => {
      await Promise.all(['/o/1', '/o/2', '/o/3'].map((path) => get(port, path)));
    });
    const { trace, all } = recorded(end);
    const outer = all.filter(({ name }) => name.startsWith('GET /o/'));
    const agents = trace.records.filter((r) => r.type === 'micro' && r.kind === 'agent');
    const owners = outer.map(({ source }) => source.owner);
    const own = agents.filter(({ registrar }) => owners.includes(registrar));
    assert.ok(own.length >= 2, `${agents.length} agent events, ${own.length} of the requests`);
  });

  on('the exit of a child process is caused by the event that spawned it', async () => {
    const end = await serve(node, 'child.cjs', (port) => get(port, '/run'));
    const { trace, all } = recorded(end);
    const exit = trace.records.find((r) => r.type === 'loop-begin' && r.kind === 'child');
    assert.ok(causes(trace, exit.event).includes(all[0].source.owner));
    assert.ok(trace.strings.includes('child true'));
  });

  on('--detail loop records sources and sinks, and no micro events but theirs', async () => {
    const drive = (port) => get(port, '/await');
    const end = await serve(node, 'plain.cjs', drive, { env: { BOBTAIL_DETAIL: 'loop' } });
    const { trace, all } = recorded(end);
    assert.deepEqual(facts(all), [['GET /await', 'GET /await', 200]]);
    const kinds = trace.records.filter(({ type }) => type === 'micro').map(({ kind }) => kind);
    assert.ok(
      kinds.every((kind) => kind === 'emitter'),
      String(kinds),
    );
  });

  on('a server that never listens is recorded from its first request on', async () => {
    const end = await run(node, 'unlistened.cjs');
    assert.deepEqual({ code: end.code, stderr: end.stderr }, { code: 0, stderr: '' });
    const { trace, all } = recorded(end);
    assert.deepEqual(facts(all), [
      ['GET /first', 'GET /first', 200],
      ['GET /second', 'GET /second', 200],
    ]);
    for (const { source, sink } of all) {
      assert.ok(causes(trace, sink.owner).includes(source.owner), source.text);
    }
    const processes = readdirSync(end.folder).filter((name) => name.startsWith('process-'));
    assert.deepEqual(processes, [`process-${end.pid}-0.json`]);
  });

  on('a program that serves nothing leaves nothing', async () => {
    const end = await run(node, 'idle.cjs');
    assert.equal(end.stdout, 'done\n');
    assert.throws(() => json(end.folder, `process-${end.pid}-0.json`), { code: 'ENOENT' });
  });
}

function pipeline(port, paths) {
  return new Promise((done, fail) => {
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
      const answers = text.split('HTTP/1.1 200').length - 1;
      if (answers === paths.length) socket.end(() => done(answers));
    });
    socket.on('error', fail);
    socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  });
}

function fetch2(session, path) {
  return new Promise((done, fail) => {
    const request = session.request({ ':path': path });
    request.on('response', done).on('error', fail).on('close', done).resume();
  });
}
