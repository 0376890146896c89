// One request's slow reads fill the thread pool; another request's short job waits for a thread.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const { SlowFiles, writtenNs } = require('../plant/slow-files.cjs');
const truth = require('../plant/truth.cjs');

const threads = Number(process.env.UV_THREADPOOL_SIZE);
const names = Array.from({ length: threads }, (_, i) => `report-${i}.dat`);
const files = new SlowFiles(names);
const open = names.map((name) => fs.openSync(files.path(name), 'r+'));
const taken = {};
/** Requests that wait for the files: two reads of one would share what is fed to either. */
const waiting = [];

/** Takes every thread of the pool for 40 ms, when those before it are done. */
function takeInTurn(planted, response) {
  waiting.push(() => takeAll(planted, response));
  if (waiting.length === 1) waiting[0]();
}

function takeAll(planted, response) {
  let left = threads;
  taken.firstWritten = Number.POSITIVE_INFINITY;
  planted.note('read');
  for (const [i, fd] of open.entries()) {
    files.fillAfter(names[i], 40);
    fs.read(fd, Buffer.alloc(200), 0, 200, null, (error, count, buffer) => {
      if (error) throw error;
      taken.firstWritten = Math.min(taken.firstWritten, writtenNs(buffer.subarray(0, count)));
      left -= 1;
      if (left > 0) return;
      planted.note('done');
      planted.answer(response);
      waiting.shift();
      waiting[0]?.();
    });
  }
  planted.note('readEnd');
}

function short(planted, response) {
  planted.resource('file', `fs.stat ${__filename}`);
  planted.note('stat');
  fs.stat(__filename, (error) => {
    if (error) throw error;
    planted.note('done');
    const { firstWritten } = taken;
    if (Number.isFinite(firstWritten)) planted.set('freed', firstWritten);
    else planted.set('freed', planted.marks.done);
    planted.answer(response);
  });
  planted.note('statEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/reports') takeInTurn(planted, response);
  else if (request.url === '/short') short(planted, response);
  else planted.answer(response);
});
truth.listen(server);
