/**
 * Clients that answer many callers on one connection: every answer must stay with its own request.
 */

import assert from 'node:assert/strict';
import { execFileSync, fork } from 'node:child_process';
import { after, before, test } from 'node:test';
import { leaveOut } from '../../../../workloads/harness/leave-out.mjs';
import { startServices } from '../../../../workloads/harness/services.mjs';
import { causes, get, nodes, requests, serve, traces } from './nodes.mjs';

const CLIENTS = [
  'pg callback',
  'pg pool',
  'pg pool connect',
  'pg query events',
  'pg promise',
  'mysql2 query',
  'mysql2 pool',
  'mysql2 promise',
  'mysql query',
  'mysql pool',
  'redis 3',
  'ioredis callback',
  'generic-pool 2',
];

let services;
let mysql;
const env = {};

before(async () => {
  services = await startServices(['postgres', 'redis']);
  Object.assign(env, services.environment);
  mysql = fork(new URL('apps/mysql-server.cjs', import.meta.url), { silent: true });
  env.CLIENT_PORT = String(await new Promise((done) => mysql.once('message', done)));
});

after(async () => {
  mysql?.disconnect();
  await services?.stop();
});

/** Checks that six concurrent requests each lead back to their own source and to no other. */
async function answersStayWithTheirRequests(node, app, extra) {
  const drive = async (port) => {
    await get(port, '/warm');
    const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => get(port, `/call/${i}`)));
    assert.deepEqual(new Set(answers.map(({ body }) => body)), new Set(['ok']));
  };
  const end = await serve(node, app, drive, { env: { ...env, ...extra } });
  const [trace] = traces(end.folder);
  const all = requests(trace).filter(({ name }) => name.startsWith('GET /call'));
  assert.equal(all.length, 6);
  const sources = new Map(all.map(({ name, source }) => [source.owner, name]));
  for (const { name, sink } of all) {
    const origins = causes(trace, sink.owner).filter((event) => sources.has(event));
    assert.deepEqual(
      origins.map((event) => sources.get(event)),
      [name],
    );
  }
}

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
  for (const client of CLIENTS) {
    test(`${client} (${version})`, (context) => {
      const needed = /^pg/.test(client) ? 'postgres' : /redis/.test(client) ? 'redis' : undefined;
      const reason = services.missing[needed];
      if (reason !== undefined) return leaveOut(context, reason);
      return answersStayWithTheirRequests(node, 'clients.cjs', { CLIENT: client });
    });
  }
  test(`pg by import (${version})`, (context) => {
    if (services.missing.postgres) return leaveOut(context, services.missing.postgres);
    return answersStayWithTheirRequests(node, 'clients-esm.mjs', {});
  });
}
