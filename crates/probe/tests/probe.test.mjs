// Runs the probe inside real Node processes and reads what it wrote.
//
// BOBTAIL_STRESS requests of the stress test (default 20000); for the rest see `observed.mjs`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { leaveOut } from '../../../workloads/harness/leave-out.mjs';
import { begins, launch, nodes, only, read, run, temporary, traces } from './observed.mjs';
import { keepStamps } from './stamps.mjs';

const stress = Number(process.env.BOBTAIL_STRESS ?? 20_000);

/** Gives `use` a folder with little room, where one can be had. */
async function onSmallDisk(t, size, use) {
  if (process.getuid() !== 0) return leaveOut(t, 'needs root to mount a small tmpfs');
  const out = path.join(temporary(t), 'full');
  fs.mkdirSync(out);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', out]);
  } catch (error) {
    return leaveOut(t, `cannot mount: ${error.message}`);
  }
  try {
    await use(out);
  } finally {
    execFileSync('umount', ['-l', out]);
  }
}

keepStamps();

for (const node of nodes) {
  const version = execFileSync(node, ['-p', 'process.version'], { encoding: 'utf8' }).trim();
  describe(`probe in ${version}`, () => {
    it('sees every request and when it was ready', async (t) => {
      const out = temporary(t);
      const { mechanisms, port, requests, clients } = await run(node, out, 'http');
      // Not every machine lets a process see its own context switches.
      const missing = mechanisms.filter(({ ok, name }) => !ok && name !== 'not-running');
      assert.deepEqual(missing, []);
      const trace = only(out);
      const opens = trace.of('handle-open');
      const server = new Set(opens.filter((r) => r.kind === 'server').map((r) => r.handle));
      assert.equal(server.size, clients);
      assert.ok(opens.some((r) => r.kind === 'listener' && r.name === `server :${port}`));
      const reads = begins(trace, 'read').filter((r) => server.has(r.handle));
      // One read per request, and one for the end of each connection (the last may come too late).
      assert.ok(reads.length >= requests && reads.length <= requests + clients);
      assert.ok(reads.filter((r) => r.quality === 'exact').length >= requests);
      const writes = trace.of('write').filter((r) => server.has(r.handle));
      assert.equal(writes.length, requests);
      assert.equal(begins(trace, 'accept').length, clients);
      assert.equal(begins(trace, 'connect').length, clients);
      assert.ok(trace.of('poll').length > 100);
    });

    it('follows every pool job from submission to callback', async (t) => {
      const out = temporary(t);
      const { file, inspect } = await run(node, out, 'pool');
      assert.equal(inspect.poolJobs, 0);
      assert.equal(inspect.losses['ready-missing'], 0);
      const trace = only(out);
      const registered = trace.of('register').filter((r) => r.kind === 'pool');
      const count = (resource) => registered.filter((r) => r.resource === resource).length;
      assert.equal(count(`fs.stat ${file}`), 200);
      assert.equal(count('crypto.pbkdf2'), 20);
      assert.equal(count('crypto.randomBytes'), 20);
      assert.equal(count('dns.lookup localhost'), 20);
      assert.equal(count(`fs.open ${file}`), 50);
      assert.equal(count(`fs.read ${file}`), 50);
      assert.equal(count(`fs.close ${file}`), 50);
      const byOp = new Map(begins(trace, 'pool').map((r) => [r.op, r]));
      assert.equal(byOp.size, registered.length);
      for (const job of registered) {
        const done = byOp.get(job.op);
        assert.equal(done.quality, 'exact', done.line);
        const started = done.readyNs - Number(done.run);
        assert.ok(job.at <= started, `${job.line}\n${done.line}`);
      }
      // All but the last few were ready before the thread had been busy for 60 ms more.
      const waits = registered.slice(0, 200).map((job) => {
        const done = byOp.get(job.op);
        return done.at - done.readyNs;
      });
      assert.ok(waits.filter((ns) => ns > 20e6).length > 150, `${waits}`);
    });

    it('names jobs after what was asked for', async (t) => {
      const out = temporary(t);
      const { major, file, short, zstd, reads } = await run(node, out, 'names');
      const jobs = only(out)
        .of('register')
        .filter((r) => r.kind === 'pool');
      const names = new Set(jobs.map((r) => r.resource));
      const crypto = ['scrypt', 'rsaKeyGen', 'hkdf'].map((name) => `crypto.${name}`);
      for (const name of ['zlib', 'zlib.brotli', ...crypto])
        assert.ok(names.has(name), `${name}: ${[...names]}`);
      if (zstd) assert.ok(names.has('zlib.zstd'), [...names].join());
      // One job on Node 26; before, one for each of open, stat, read and close.
      const verb = major >= 26 ? 'readFile' : 'read';
      for (const path of [file, short]) assert.ok(names.has(`fs.${verb} ${path}`), `${[...names]}`);
      const same = jobs.filter((r) => r.resource === `fs.${verb} ${file}`);
      assert.ok(same.length >= reads, `${same.length}`);
      const bare = jobs.filter((r) => r.resource === 'pool' || r.resource === '0');
      assert.deepEqual(bare, []);
    });

    it('loses nothing to kill -9', async (t) => {
      const out = temporary(t);
      const child = launch(node, out, 'hang');
      child.stderr.pipe(process.stderr);
      const told = await new Promise((resolve) => child.stdout.once('data', resolve));
      child.kill('SIGKILL');
      await new Promise((resolve) => child.on('close', resolve));
      const trace = only(out);
      const server = trace.of('handle-open').filter((r) => r.kind === 'server');
      const reads = begins(trace, 'read').filter((r) => r.handle === server[0].handle);
      assert.ok(reads.length >= 300, `${reads.length}`);
      assert.ok(begins(trace, 'pool').length >= JSON.parse(told).jobs);
    });

    it('goes on when the disk is full', async (t) => {
      await onSmallDisk(t, '1600k', async (out) => {
        const { done, inspect } = await run(node, out, 'full');
        assert.ok(done > 500, `${done}`);
        assert.ok(inspect.losses['disk-full'] > 0, JSON.stringify(inspect));
        assert.ok(only(out).records.length > 500);
      });
    });

    it('gives back what a refused start had taken', async (t) => {
      // Room for the head of a trace, and for none of its chunks of 1 MB; or not even for that.
      for (const size of ['1600k', '512k']) {
        await onSmallDisk(t, size, async (out) => {
          const { codes, before, after, files, device } = await run(node, out, 'unable');
          assert.deepEqual(codes.toSorted(), ['BOBTAIL_DISK_FULL', 'BOBTAIL_OUTPUT']);
          assert.equal(after[0], before[0], 'descriptors');
          assert.ok(after[1] <= before[1] + 20, `mappings: ${before[1]}, then ${after[1]}`);
          assert.deepEqual(files, []);
          assert.ok(device);
        });
      }
    });

    it('says when files bypass the pool', async (t) => {
      const pool = ({ mechanisms }) => mechanisms.find(({ name }) => name === 'pool');
      assert.ok(pool(await run(node, temporary(t), 'ring')).ok);
      const out = temporary(t);
      const result = await run(node, out, 'ring', { env: { UV_USE_IO_URING: '1' } });
      const seen = only(out)
        .of('register')
        .some((r) => r.resource.startsWith('fs.stat'));
      assert.equal(pool(result).ok, seen, result.libuv);
      if (!seen) assert.match(pool(result).reason, /UV_USE_IO_URING/);
    });

    it('never takes one descriptor for another', async (t) => {
      const out = temporary(t);
      const { connections } = await run(node, out, 'reuse');
      const trace = only(out);
      const state = new Map();
      for (const record of trace.records) {
        if (record.type === 'handle-open') {
          assert.ok(!state.has(record.handle), record.line);
          state.set(record.handle, 'open');
        } else if (record.type === 'handle-close') {
          assert.equal(state.get(record.handle), 'open', record.line);
          state.set(record.handle, 'closed');
        } else if (record.handle && record.handle !== '0') {
          assert.equal(state.get(record.handle), 'open', record.line);
        }
      }
      const of = (kind) => trace.of('handle-open').filter((r) => r.kind === kind).length;
      assert.equal(of('server'), connections);
      assert.equal(of('client'), connections);
      const open = [...state.values()].filter((word) => word === 'open');
      assert.ok(open.length < 6, `${open.length} never closed`);
    });

    for (const where of ['main', 'workers only']) {
      it(`records worker threads (${where})`, async (t) => {
        const out = temporary(t);
        const { workers } = await run(node, out, 'workers', { rest: [where] });
        const files = traces(out);
        assert.equal(files.length, workers + (where === 'main' ? 1 : 0));
        for (const file of files) {
          const trace = read(path.join(out, file));
          if (file.endsWith('-0.trace')) continue;
          const jobs = trace.of('register').filter((r) => r.resource === 'crypto.randomBytes');
          assert.equal(jobs.length, 300, file);
          assert.equal(begins(trace, 'pool').filter((r) => r.op !== '0').length, 300);
        }
      });
    }

    it('is not disturbed by child processes', async (t) => {
      const out = temporary(t);
      await run(node, out, 'children');
      const trace = only(out);
      assert.ok(begins(trace, 'signal').length >= 1);
      const pipes = trace.of('handle-open').filter((r) => r.kind === 'pipe');
      assert.ok(pipes.length > 10);
    });

    it('knows connections a cluster passed on', async (t) => {
      const out = temporary(t);
      const { child } = await run(node, out, 'cluster');
      const trace = read(path.join(out, `${child}-0.trace`));
      const server = trace.of('handle-open').filter((r) => r.kind === 'server');
      assert.equal(server.length, 2);
      const reads = begins(trace, 'read').filter((r) => r.handle === server[0].handle);
      assert.ok(reads.length >= 20);
    });

    it('tells when timers were due', async (t) => {
      const out = temporary(t);
      await run(node, out, 'timers');
      const trace = only(out);
      const timers = begins(trace, 'timers');
      assert.ok(timers.length >= 20);
      assert.ok(timers.every((r) => r.quality === 'exact'));
      assert.ok(
        timers.some((r) => r.at - r.readyNs > 20e6),
        'one was due while the thread spun',
      );
      assert.ok(begins(trace, 'immediates').length >= 20);
    });

    it('records every collection', async (t) => {
      const out = temporary(t);
      const { seen } = await run(node, out, 'collections', { flags: ['--expose-gc'] });
      // Steps of marking are no pauses.
      const collections = only(out)
        .of('gc')
        .filter((r) => r.kind !== '8');
      assert.ok(collections.length >= seen, `${collections.length} of ${seen}`);
      assert.ok(collections.length <= seen * 1.1 + 3, `${collections.length} of ${seen}`);
    });

    it('rolls through a bounded file', async (t) => {
      const out = temporary(t);
      const { inspect } = await run(node, out, 'rolling');
      assert.ok(inspect.chunk > 25, JSON.stringify(inspect));
      const { size } = fs.statSync(path.join(out, traces(out)[0]));
      assert.ok(size <= 4096 + (1 << 20) + 20 * 8192, `${size}`);
      const losses = only(out).of('loss');
      assert.ok(losses.some((r) => r.kind === 'overwritten'));
    });

    it('ends with a mark when the numbers of events are used up', async (t) => {
      const out = temporary(t);
      const { last, silent, resumed } = await run(node, out, 'numbers');
      assert.deepEqual([last, silent, resumed], [0xfffffffd, true, false]);
      const { kind } = only(out).of('mark').at(-1);
      assert.equal(kind, 'paused');
      assert.equal(only(out).records.at(-1).type, 'mark', 'nothing comes after it');
      assert.equal(only(out).of('loop-begin').at(-1).event, String(last));
    });

    it('finds the code that runs long', async (t) => {
      const out = temporary(t);
      await run(node, out, 'location');
      const found = only(out).of('location');
      const slow = found.filter(({ function: name, file, line, column }) => {
        if (!/^(slowFunction|spin)$/.test(name) || !file.endsWith('.cjs')) return false;
        const text = fs.readFileSync(file, 'utf8').split('\n')[line - 1];
        return column >= 1 && column <= text.length;
      });
      assert.ok(slow.length >= 2, JSON.stringify(found));
      assert.ok(slow.every(({ file }) => path.isAbsolute(file)));
    });

    it('names the code that called what was only just entered', async (t) => {
      const out = temporary(t);
      await run(node, out, 'entered');
      const found = only(out).of('location');
      const names = found.map((r) => `${r.function} ${r.file}:${r.line}:${r.column}`);
      const right = names.filter((text) => /^serializeEverything .*scenarios\.cjs:/.test(text));
      assert.ok(right.length >= 16, names.join('\n'));
      // A helper that was really running when it was looked at is rare.
      assert.ok(right.length >= names.length * 0.75, names.join('\n'));
      assert.ok(
        names.every((text) => !text.includes('node:')),
        names.join('\n'),
      );
    });

    it('says when a write was asked for, and when a response was handed over', async (t) => {
      const out = temporary(t);
      const { spans } = await run(node, out, 'writes');
      const trace = only(out);
      const writes = trace.of('write');
      // Where in the call the first write of each connection lies: 0 at its begin, 1 at its end.
      // The kernel takes most of it to copy this much, unless the machine is busy elsewhere.
      const places = (kind, calls) =>
        trace
          .of('handle-open')
          .filter((r) => r.kind === kind)
          .map(({ handle }, n) => {
            const { at } = writes.find((r) => r.handle === handle);
            return (at - calls[n][0]) / (calls[n][1] - calls[n][0]);
          })
          .sort((a, b) => a - b);
      const [client, server] = ['client', 'server'].map((kind) => places(kind, spans[kind]));
      const middle = client.length >> 1;
      assert.ok(client[middle] < 0.5, `${client}`);
      assert.ok(server[middle] > 0.5, `${server}`);
    });

    it('says what of a write still waits in the process', async (t) => {
      const out = temporary(t);
      const { bytes: total } = await run(node, out, 'unsent');
      const trace = only(out);
      const [large, empty] = trace
        .of('handle-open')
        .filter((r) => r.kind === 'server')
        .map(({ handle }) => {
          const own = trace.of('write').filter((r) => r.handle === handle);
          return own.map(({ bytes, unsent }) => [Number(bytes), Number(unsent)]);
        });
      const nothingAndAll = [0, 3].map((bytes) => [bytes, 0]);
      assert.deepEqual(empty, nothingAndAll);
      // What is left goes down by what the kernel takes; the end is written when nothing is left.
      let left = total - 3;
      for (const [taken, unsent] of large.slice(0, -1)) {
        left -= taken;
        assert.equal(unsent, left, JSON.stringify(large));
      }
      assert.ok(large.length > 2 && left === 0, JSON.stringify(large));
      assert.deepEqual(large.at(-1), [3, 0]);
    });

    it('obeys JavaScript', async (t) => {
      const result = await run(node, temporary(t), 'control');
      assert.deepEqual(result.errors, ['BOBTAIL_OUTPUT', 'BOBTAIL_ARGUMENT', 'BOBTAIL_STATE']);
      assert.ok(result.drift > 0 && result.drift < 1e9);
      assert.equal(result.id, result.same);
      assert.ok(result.open > 0 && result.silent && result.goesOn && result.ended);
      assert.deepEqual(result.stopped, [true, false]);
      assert.deepEqual(result.sizes, [4096, 4 << 20, 65536 * 4]);
    });

    it('names unix sockets and sees datagrams', async (t) => {
      const out = temporary(t);
      const { unix } = await run(node, out, 'sockets');
      const trace = only(out);
      const opens = trace.of('handle-open');
      assert.ok(opens.some((r) => r.kind === 'unix-client' && r.name === `unix:${unix}`));
      assert.ok(opens.some((r) => r.kind === 'unix-server' && r.name === `server unix:${unix}`));
      const datagrams = begins(trace, 'udp');
      assert.equal(datagrams.length, 20);
      assert.ok(datagrams.filter((r) => r.quality === 'exact').length >= 19);
    });

    it('says when a ready time is only a bound', async (t) => {
      const out = temporary(t);
      const { reads, full } = await run(node, out, 'upload');
      const trace = only(out);
      const server = trace.of('handle-open').filter((r) => r.kind === 'server');
      assert.equal(server.length, reads.length);
      for (const [n, { handle }] of server.entries()) {
        const seen = begins(trace, 'read').filter((r) => r.handle === handle);
        // The last one is the end of the connection.
        assert.equal(seen.length, reads[n].length + 1);
        for (const [index, bytes] of reads[n].entries()) {
          // A full buffer may hold several segments, and libuv reads on at once after it.
          const isBound = bytes === full || reads[n][index - 1] === full;
          assert.equal(seen[index].quality, isBound ? 'bound' : 'exact', seen[index].line);
        }
      }
    });

    for (const helper of ['0', '1']) {
      it(`sees unix sockets become ready while it is busy (helper ${helper})`, async (t) => {
        const out = temporary(t);
        await run(node, out, 'busy', { env: { BOBTAIL_READY_HELPER: helper } });
        const trace = only(out);
        const server = trace.of('handle-open').filter((r) => r.kind === 'unix-server');
        const handles = new Set(server.map((r) => r.handle));
        const reads = begins(trace, 'read').filter((r) => handles.has(r.handle));
        // Two came while the first was served, which took 200 ms more; then one waited for both.
        const waits = reads.map((r) => r.at - r.readyNs).sort((a, b) => b - a);
        assert.ok(waits[0] > 250e6 && waits[1] > 100e6, waits.join());
        const quality = helper === '1' ? 'estimate' : 'bound';
        assert.ok(reads.filter((r) => r.quality === quality).length >= 2);
      });
    }

    it('ends a refused connect', async (t) => {
      const out = temporary(t);
      const { port } = await run(node, out, 'refused');
      const trace = only(out);
      const connect = trace.of('register').find((r) => r.kind === 'connect');
      assert.equal(connect.resource, `127.0.0.1:${port}`);
      assert.equal(begins(trace, 'connect')[0].op, connect.op);
    });

    it(`survives ${stress} requests`, async (t) => {
      const out = temporary(t);
      const rest = [`${stress / 4}`];
      const { inspect } = await run(node, out, 'http', {
        rest,
        flags: ['--max-semi-space-size=1'],
      });
      assert.ok(
        Object.values(inspect.losses).every((count) => count === 0),
        inspect.losses,
      );
      const trace = only(out);
      assert.ok(begins(trace, 'read').length >= 2 * stress);
      const { size } = fs.statSync(path.join(out, traces(out)[0]));
      const events = trace.of('loop-begin').length;
      t.diagnostic(`${(size / events).toFixed(1)} bytes of file per event`);
    });
  });
}
