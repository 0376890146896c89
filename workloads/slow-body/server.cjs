// A POST whose client sends the body slowly.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

function upload(planted, request, response) {
  request.on('data', () => planted.note('chunk'));
  request.on('end', () => planted.answer(response));
  planted.noteTurnEnd('asked');
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/upload') upload(planted, request, response);
  else planted.answer(response);
});
truth.listen(server);
