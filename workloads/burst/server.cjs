// A route that costs 3 ms of CPU, asked by many at once: each waits for those served before it.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/work') truth.spin(3);
  planted.answer(response);
});
truth.listen(server);
