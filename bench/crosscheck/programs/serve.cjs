// What the programs share: one piece of work for each request, and who they are for the sampler.
'use strict';

const http = require('node:http');

exports.serve = (work) => {
  let turn = 0;
  const server = http.createServer((request, response) => {
    if (request.url === '/pid') {
      response.end(String(process.pid));
      return;
    }
    turn += 1;
    response.end(String(work(turn)));
  });
  server.listen(0, '127.0.0.1');
};
