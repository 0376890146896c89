// A route that waits for one slow read of a file on the thread pool, in callback style.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const { SlowFiles, writtenNs } = require('../plant/slow-files.cjs');
const truth = require('../plant/truth.cjs');

const files = new SlowFiles(['invoice.dat']);

function slow(planted, response) {
  planted.resource('opening', `fs.open ${files.path('invoice.dat')}`);
  planted.resource('reading', `fs.read ${files.path('invoice.dat')}`);
  planted.note('open');
  fs.open(files.path('invoice.dat'), 'r+', (openError, fd) => {
    if (openError) throw openError;
    planted.note('opened');
    files.fillAfter('invoice.dat', 40);
    planted.note('read');
    fs.read(fd, Buffer.alloc(200), 0, 200, null, (readError, count, buffer) => {
      if (readError) throw readError;
      planted.note('done');
      planted.set('written', writtenNs(buffer.subarray(0, count)));
      fs.closeSync(fd);
      planted.answer(response);
    });
    planted.note('readEnd');
  });
  planted.note('openEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/slow') slow(planted, response);
  else planted.answer(response);
});
truth.listen(server);
