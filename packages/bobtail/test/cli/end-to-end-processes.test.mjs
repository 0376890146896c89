/** Several processes in one recording: each is listed, all are one report. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { get, load } from './load.mjs';
import { nodes } from './nodes.mjs';
import { fixture, reportOf, startRecording } from './recordings.mjs';
import { runBobtail } from './run-bobtail.mjs';

const MODES = ['shared', 'none', 'exclusive', 'reusePort'];

/** The paper's table of a cluster: parts of the latency of the tail of all processes. */
async function checkCluster({ cluster, tail, breakdown }, folder) {
  const { processes, count, latencyNs, ...parts } = cluster;
  const { ioNs, latencyNs: tailNs } = breakdown.find(({ route }) => route === '*');
  assert.deepEqual(
    { processes, count, latencyNs, ioNs: parts.ioNs },
    { processes: 2, count: tail.count, latencyNs: tailNs, ioNs },
  );
  assert.equal(
    Object.values(parts).reduce((sum, partNs) => sum + partNs, 0),
    latencyNs,
  );
  const { stdout } = await runBobtail(['report', folder]);
  assert.match(stdout, /^tail of the cluster +processes .* native +other\n {2}% of latency +2 /m);
}

for (const { path, version } of nodes) {
  const [major, minor] = version.slice(1).split('.').map(Number);
  const hasReusePort = major > 23 || (major === 23 && minor >= 1);
  for (const mode of MODES.filter((one) => one !== 'reusePort' || hasReusePort)) {
    test(`${version}: a cluster of two workers is one report (${mode})`, async (t) => {
      const service = await startRecording(t, [path, fixture('cluster.cjs'), mode]);
      const [, first] = /first (\d+)/.exec(await service.until('listening'));
      const answers = new Map();
      for (let n = 0; n < 50; n += 1) {
        for (const port of [first, service.port]) {
          const pid = Number(await get(port, `/${n}`));
          answers.set(pid, (answers.get(pid) ?? 0) + 1);
        }
      }
      // Elsewhere the kernel may give all to one.
      if (mode === 'shared' || mode === 'exclusive') assert.equal(answers.size, 2);
      const { code, stderr } = await service.end('SIGTERM');
      assert.equal(code, 0, stderr);
      assert.match(stderr, / 100 requests · 0 lost · /);
      const report = await reportOf(service.folder);
      const { count, complete, inferred } = report.requests;
      assert.deepEqual({ count, complete, inferred }, { count: 100, complete: 100, inferred: 0 });
      const served = report.run.processes.filter(({ requests }) => requests > 0);
      assert.deepEqual(new Map(served.map(({ pid, requests }) => [pid, requests])), answers);
      if (answers.size === 2) await checkCluster(report, service.folder);
      for (const pid of answers.keys()) {
        const id = `${pid}-0:1`;
        const one = await runBobtail(['explain', service.folder, '--request', id, '--json']);
        assert.equal(JSON.parse(one.stdout).id, id, one.stderr);
      }
    });
  }

  test(`${version}: workers that are passed their sockets are recorded`, async (t) => {
    const service = await startRecording(t, [path, fixture('sticky.cjs')]);
    const answers = new Map();
    for (let n = 0; n < 40; n += 1) {
      const pid = Number(await get(service.port, `/${n}`));
      answers.set(pid, (answers.get(pid) ?? 0) + 1);
    }
    const { code, stderr } = await service.end('SIGTERM');
    assert.equal(code, 0, stderr);
    const { requests, run } = await reportOf(service.folder);
    const { count, complete, inferred, unfinished } = requests;
    const all = { count: 40, complete: 40, inferred: 0, unfinished: 0 };
    assert.deepEqual({ count, complete, inferred, unfinished }, all);
    const served = run.processes.filter(({ requests }) => requests > 0);
    assert.deepEqual(new Map(served.map(({ pid, requests }) => [pid, requests])), answers);
  });

  test(`${version}: a service that is forked is recorded, its parent is not`, async (t) => {
    const service = await startRecording(t, [path, fixture('forker.mjs')]);
    assert.equal(await load(service.port, { count: 100 }), 100);
    const { code, stderr } = await service.end('SIGTERM');
    assert.equal(code, 0, stderr);
    const { requests, run } = await reportOf(service.folder);
    assert.equal(requests.count, 100);
    assert.deepEqual(
      run.processes.map(({ pid, requests }) => ({ pid, requests })),
      [{ pid: service.pid, requests: 100 }],
    );
  });
}

test('two services started by one shell are one report', async (t) => {
  const [{ path }] = nodes;
  const start = `"${path}" "${fixture('service.mjs')}" http`;
  const command = `${start} & ${start} & wait`;
  const service = await startRecording(t, ['sh', '-c', command]);
  let names = [];
  while (names.length < 2) {
    names = readdirSync(service.folder).filter((name) => name.startsWith('listening-'));
    await new Promise((done) => setTimeout(done, 50));
  }
  await load(service.port, { count: 30 });
  // `sh` does not pass SIGTERM on; the services end because they are asked to, as in a container.
  const pids = names.map((name) => Number(/\d+/.exec(name)[0]));
  for (const pid of pids) process.kill(pid, 'SIGTERM');
  const { stderr } = await service.ended;
  assert.match(stderr, /recorded pids \d+, \d+ · /);
  const { run, requests } = await reportOf(service.folder);
  assert.deepEqual(new Set(run.processes.map(({ pid }) => pid)), new Set(pids));
  assert.equal(requests.count, 30);
});
