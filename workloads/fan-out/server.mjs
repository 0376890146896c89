// Promise.all of a timer, an upstream call and a slow read: only the last to arrive matters.
import { open } from 'node:fs/promises';
import http, { createServer } from 'node:http';
import { SlowFiles, writtenNs } from '../plant/slow-files.cjs';
import truth from '../plant/truth.cjs';
import upstreams from '../plant/upstream.cjs';

const files = new SlowFiles(['slow.dat']);
const file = await open(files.path('slow.dat'), 'r+');
const upstream = await upstreams.startUpstream();
const agent = new http.Agent({ keepAlive: true });

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function ask(ms) {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: upstream.port, path: `/${ms}`, agent };
    http.get(options, (answer) => answer.resume().on('end', resolve)).on('error', reject);
  });
}

async function slowRead(planted) {
  await sleep(10);
  planted.note('slept');
  files.fillAfter('slow.dat', 40);
  planted.note('read');
  const pending = file.read(Buffer.alloc(200), 0, 200, null);
  planted.note('readEnd');
  const { bytesRead, buffer } = await pending;
  planted.note('done');
  planted.set('written', writtenNs(buffer.subarray(0, bytesRead)));
}

async function fanOut(planted, response) {
  planted.resource('reading', 'fs.read');
  planted.note('wait');
  const rested = sleep(35).then(() => planted.note('rested'));
  const pending = Promise.all([rested, slowRead(planted), ask(20)]);
  planted.note('waitEnd');
  await pending;
  await null;
  planted.answer(response);
}

const server = createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/all') fanOut(planted, response);
  else planted.answer(response);
});
truth.listen(server);
