// A route that compresses a document on the thread pool.
'use strict';

const crypto = require('node:crypto');
const http = require('node:http');
const zlib = require('node:zlib');
const truth = require('../plant/truth.cjs');

const text = crypto.randomBytes(200_000).toString('hex');

function compress(planted, response) {
  planted.note('compress');
  zlib.gzip(text, { chunkSize: 1 << 20 }, (error) => {
    if (error) throw error;
    planted.note('compressed');
    planted.answer(response);
  });
  planted.note('compressEnd');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/archive') compress(planted, response);
  else planted.answer(response);
});
truth.listen(server);
