// A route that runs a command and answers when it has ended.
'use strict';

const { spawn } = require('node:child_process');
const http = require('node:http');
const truth = require('../plant/truth.cjs');

function convert(planted, response) {
  planted.note('spawn');
  const child = spawn('sleep', ['0.04'], { stdio: 'ignore' });
  planted.note('spawnEnd');
  child.on('exit', () => {
    planted.note('exited');
    planted.answer(response);
  });
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/convert') convert(planted, response);
  else planted.answer(response);
});
truth.listen(server);
