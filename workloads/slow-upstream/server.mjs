// The same slow HTTP service asked with the built-in fetch and with the undici package.
import { createServer } from 'node:http';
import { request as undiciRequest } from 'undici';
import truth from '../plant/truth.cjs';
import upstreams from '../plant/upstream.cjs';

const upstream = await upstreams.startUpstream();

async function slow(planted, response) {
  planted.resource('upstream', upstream.address);
  planted.note('ask');
  const pending = fetch(`http://${upstream.address}/40`);
  planted.note('askEnd');
  const answer = await pending;
  planted.note('answered');
  const { receivedNs, answeredNs } = await answer.json();
  planted.set('received', receivedNs);
  planted.set('sentBack', answeredNs);
  planted.answer(response);
}

async function slowUndici(planted, response) {
  planted.resource('upstream', upstream.address);
  planted.note('ask');
  const pending = undiciRequest(`http://${upstream.address}/40`);
  planted.note('askEnd');
  const answer = await pending;
  planted.note('answered');
  const { receivedNs, answeredNs } = await answer.body.json();
  planted.set('received', receivedNs);
  planted.set('sentBack', answeredNs);
  planted.answer(response);
}

const server = createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/slow') slow(planted, response);
  else if (request.url === '/undici') slowUndici(planted, response);
  else planted.answer(response);
});
truth.listen(server);
