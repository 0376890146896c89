// The least a service can do: node:http and a JSON answer. What recording costs weighs most here.
'use strict';

const http = require('node:http');
const { listen } = require('./listen.cjs');

const server = http.createServer((request, response) => {
  const body = JSON.stringify({ path: request.url, at: Date.now(), ok: true });
  response.setHeader('content-type', 'application/json');
  response.setHeader('content-length', body.length);
  response.end(body);
});
listen(server);
