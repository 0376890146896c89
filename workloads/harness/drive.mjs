// The load of one planted cause: sends what its `expected.mjs` asks for, and notes when.
//
// Run by `bobtail record --on-port` with $PORT (or $SOCKET): `node drive.mjs CAUSE`. Connections
// are opened and warmed before the first request counts. Notes go to `$PLANTED_FILE.client`.
import { appendFileSync } from 'node:fs';
import { Connection } from './connection.mjs';

const { default: expected } = await import(`../${process.argv[2]}/expected.mjs`);
const where = process.env.PORT ?? process.env.SOCKET;
const connections = new Map();
const notes = [];
let ids = 0;

async function connection(name) {
  if (!connections.has(name)) {
    const opened = await Connection.open(where);
    connections.set(name, opened);
    await opened.send({ path: '/warm', id: 0 });
    if (expected.warm) for (const path of expected.warm) await opened.send({ path, id: 0 });
  }
  return connections.get(name);
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function one(send, index) {
  const on = await connection(send.connection ?? `c${index}`);
  return async () => {
    if (send.atMs) await sleep(send.atMs);
    const number = (request) => ({ ...request, id: ++ids });
    const answered = send.pipeline
      ? await on.pipeline(send.pipeline.map(number))
      : await on.send(number(send));
    notes.push(...answered);
  };
}

for (const { send, repeat = 1, gapMs = 5 } of expected.drive) {
  const list = send.flatMap((item) => Array.from({ length: item.count ?? 1 }, () => item));
  for (let i = 0; i < repeat; i += 1) {
    const starts = [];
    for (const [index, item] of list.entries()) starts.push(await one(item, index));
    await Promise.all(starts.map((start) => start()));
    await sleep(gapMs);
  }
}
for (const open of connections.values()) open.close();

const bad = notes.filter(({ status }) => status !== 200);
if (bad.length) throw new Error(`answered with an error: ${JSON.stringify(bad[0])}`);
const lines = notes.map((note) => `${JSON.stringify(note)}\n`);
const file = process.env.PLANTED_FILE;
if (file) appendFileSync(`${file}.client`, lines.join(''));
