// The example of the papers' slides: readdir, N readFile at once, answer when the last is done.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { SlowFiles, writtenNs } = require('../plant/slow-files.cjs');
const truth = require('../plant/truth.cjs');

const slow = new SlowFiles(['file3']);
for (const name of ['file1', 'file2', 'file4', 'file5'])
  fs.writeFileSync(path.join(slow.folder, name), 'quick');

function readAll(planted, response) {
  planted.resource('folder', `fs.readdir ${slow.folder}`);
  planted.resource('slow', 'file3');
  planted.note('readdir');
  fs.readdir(slow.folder, function dir(error, files) {
    if (error) throw error;
    planted.note('listed');
    slow.serveOnce('file3', 40);
    let count = files.length;
    for (const file of files) {
      fs.readFile(path.join(slow.folder, file), function read(readError, data) {
        if (readError) throw readError;
        if (file === 'file3') planted.set('written', writtenNs(data));
        count -= 1;
        if (count === 0) {
          planted.note('last');
          planted.answer(response);
        }
      });
    }
    planted.note('started');
  });
  planted.note('readdirEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/all') readAll(planted, response);
  else planted.answer(response);
});
truth.listen(server);
