// An http agent with one socket: the second call queues in the agent for the first one's socket.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');
const { startUpstream } = require('../plant/upstream.cjs');

const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function ask(upstream, planted, response) {
  planted.resource('upstream', upstream.address);
  planted.note('ask');
  const options = { host: '127.0.0.1', port: upstream.port, path: '/25', agent };
  planted.noteTurnEnd('askEnd');
  const call = http.get(options, (answer) => {
    planted.note('answered');
    let text = '';
    answer.on('data', (chunk) => {
      text += chunk;
    });
    answer.on('end', () => {
      const { receivedNs, answeredNs } = JSON.parse(text);
      planted.set('received', receivedNs);
      planted.set('sentBack', answeredNs);
      planted.answer(response);
    });
  });
  call.on('socket', () => planted.note('socket'));
}

startUpstream().then((upstream) => {
  const server = http.createServer((request, response) => {
    const planted = truth.begin(request);
    if (request.url === '/ask') ask(upstream, planted, response);
    else planted.answer(response);
  });
  truth.listen(server);
});
