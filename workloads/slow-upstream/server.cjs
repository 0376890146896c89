// A route that waits for a slow HTTP service over a keep-alive agent, in callback style.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');
const { startUpstream } = require('../plant/upstream.cjs');

const agent = new http.Agent({ keepAlive: true });

function read(answer, then) {
  let text = '';
  answer.setEncoding('utf8');
  answer.on('data', (chunk) => {
    text += chunk;
  });
  answer.on('end', () => then(JSON.parse(text)));
}

function slow(upstream, planted, response) {
  planted.resource('upstream', upstream.address);
  planted.note('ask');
  http.get({ host: '127.0.0.1', port: upstream.port, path: '/40', agent }, (answer) => {
    planted.note('answered');
    read(answer, ({ receivedNs, answeredNs }) => {
      planted.set('received', receivedNs);
      planted.set('sentBack', answeredNs);
      planted.answer(response);
    });
  });
  planted.note('askEnd');
}

startUpstream().then((upstream) => {
  const server = http.createServer((request, response) => {
    const planted = truth.begin(request);
    if (request.url === '/slow') slow(upstream, planted, response);
    else planted.answer(response);
  });
  truth.listen(server);
});
