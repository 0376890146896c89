/** Services recorded on every Node: what was answered is in the report, however they end. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { get, load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';
import { makeFolder, runBobtail } from './run-bobtail.mjs';

const REQUESTS = 300;
const FRAMEWORKS = ['http', 'express', 'fastify'];

for (const { path, version } of nodes) {
  for (const framework of FRAMEWORKS) {
    test(`${version}: ${framework}, ended by SIGTERM`, async (t) => {
      const service = await startRecording(t, [path, fixture('service.mjs'), framework]);
      assert.equal(await load(service.port, { count: REQUESTS }), REQUESTS);
      const { code, signal, stderr } = await service.end('SIGTERM');
      assert.deepEqual({ code, signal }, { code: null, signal: 'SIGTERM' }, stderr);
      const report = await reportOf(service.folder);
      const { count, complete, inferred, unfinished } = report.requests;
      assert.deepEqual(
        { count, complete, inferred, unfinished, losses: report.losses, node: report.run.node },
        {
          count: REQUESTS,
          complete: REQUESTS,
          inferred: 0,
          unfinished: 0,
          losses: {},
          node: [version],
        },
      );
      assert.deepEqual(report.run.outcome, { exitCode: null, signal: 'SIGTERM' });
      const routes = new Set(report.breakdown.map((row) => row.route));
      routes.delete('*');
      assert.equal(routes.size, 1);
      assert.match([...routes][0], /^GET \/file\/:(n|id)$/);
    });
  }

  test(`${version}: SIGKILL under load loses nothing that was answered`, async (t) => {
    const service = await startRecording(t, [path, fixture('service.mjs'), 'http']);
    const KILL_AT = 500;
    const connections = 8;
    const onAnswer = (answered) => {
      if (answered === KILL_AT) process.kill(service.pid, 'SIGKILL');
    };
    const answered = await load(service.port, { count: 1e6, connections, onAnswer });
    const { code, stderr } = await service.ended;
    assert.equal(code, 137, stderr);
    const { requests, losses, run } = await reportOf(service.folder);
    assert.ok(answered >= KILL_AT);
    assert.ok(requests.count >= answered, `${requests.count} of ${answered}`);
    assert.ok(requests.count + requests.unfinished <= answered + connections);
    assert.equal(requests.complete, requests.count);
    assert.deepEqual(losses, {});
    assert.deepEqual(run.outcome, { exitCode: null, signal: 'SIGKILL' });
  });

  test(`${version}: a crash keeps its exit code, its message and its recording`, async (t) => {
    const service = await startRecording(t, [path, fixture('service.mjs'), 'http']);
    await load(service.port, { count: 50 });
    await assert.rejects(get(service.port, '/crash'));
    const { code, stderr } = await service.ended;
    assert.equal(code, 1);
    assert.match(
      stderr,
      /throw new Error\('planted crash'\);\n.*\n\nError: planted crash\n {4}at /,
    );
    assert.match(stderr, /service\.mjs:\d+:\d+\)\n/);
    const { requests, losses } = await reportOf(service.folder);
    assert.equal(requests.count, 50);
    assert.equal(requests.unfinished, 1);
    assert.deepEqual(losses, {});
  });

  test(`${version}: a connection older than 10,000 requests is not truncated`, async (t) => {
    const service = await startRecording(t, [path, fixture('service.mjs'), 'http']);
    const { Agent } = await import('node:http');
    const early = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(() => early.destroy());
    await get(service.port, '/hello', early);
    // Requests that come closer than the server's keep-alive timeout, as a pool's would.
    let others = 0;
    while (others < 10_000) {
      others += await load(service.port, { count: 2_500, connections: 8, path: () => '/other' });
      await get(service.port, '/hello', early);
    }
    await service.end();
    const { requests, losses } = await reportOf(service.folder);
    assert.equal(requests.count, 10_005);
    assert.equal(requests.complete, 10_005);
    assert.equal(requests.inferred, 0);
    assert.deepEqual(losses, {});
  });
}

for (const { path, version } of nodes) {
  test(`${version}: many files are one row, each has its name in explain`, async (t) => {
    const service = await startRecording(t, [path, fixture('files.mjs')]);
    await load(service.port, { count: 100, path: (n) => `/${n}` });
    await service.end();
    const { io } = await reportOf(service.folder);
    const files = new Set(io.map(({ resource }) => /^fs\.\w+ (.*)/.exec(resource)?.[1]));
    files.delete(undefined);
    const data = join(service.cwd, 'data');
    const expected = [join(data, 'product-:n.json'), join(data, 'page-2.1.html')];
    assert.deepEqual([...files].sort(), expected.sort());
    const one = await runBobtail(['explain', service.folder, '--json']);
    const named = JSON.parse(one.stdout).segments.map(({ resource }) => resource);
    assert.ok(
      named.some((resource) => /^fs\.\w+ .*\/product-\d+\.json$/.test(resource)),
      JSON.stringify(named),
    );
    const { stdout } = await runBobtail(['report', 'recording.bobtail'], { cwd: service.cwd });
    assert.match(stdout, / fs\.\w+ data\/product-:n\.json /);
    assert.ok(!stdout.includes(service.cwd), stdout);
  });
}

const HOOKS = 'export const resolve = (name, context, next) => next(name, context);';
const REGISTER = `import { register } from 'node:module';
register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(HOOKS)}));`;
const LOADER = `data:text/javascript,${encodeURIComponent(REGISTER)}`;

for (const { path, version } of nodes) {
  test(`${version}: a service below an ES module loader is recorded`, async (t) => {
    const command = [path, '--import', LOADER, fixture('service.mjs'), 'http'];
    const service = await startRecording(t, command);
    await load(service.port, { count: 20 });
    const { code, signal, stderr } = await service.end('SIGTERM');
    assert.deepEqual({ code, signal }, { code: null, signal: 'SIGTERM' }, stderr);
    const { requests, run } = await reportOf(service.folder);
    const { count, complete, inferred } = requests;
    assert.deepEqual({ count, complete, inferred }, { count: 20, complete: 20, inferred: 0 });
    assert.deepEqual(
      run.processes.map(({ thread, requests }) => [thread, requests]),
      [[0, 20]],
    );
  });
}

test('a service that a shell becomes is recorded', async (t) => {
  const [{ path }] = nodes;
  const command = `"${path}" "${fixture('service.mjs')}" http`;
  const service = await startRecording(t, ['sh', '-c', `exec ${command}`]);
  await load(service.port, { count: 20 });
  await service.end();
  assert.equal((await reportOf(service.folder)).requests.count, 20);
});

test('NODE_OPTIONS of the user reach the recorded service', async (t) => {
  for (const { path, version } of nodes) {
    const script = 'console.log(process.title, v8.getHeapStatistics().heap_size_limit >> 20)';
    const result = await runBobtail(['record', '--', path, '-e', script], {
      cwd: makeFolder(t),
      env: { NODE_OPTIONS: '--title=kept --max-old-space-size=333' },
    });
    const [, limit] = /^kept (\d+)\n$/.exec(result.stdout) ?? [];
    assert.ok(limit >= 333 && limit < 600, `${version}: ${result.stdout}${result.stderr}`);
  }
});
