// A cache that loads a key once for all who ask: the second request waits for the first one's call.
import http, { createServer } from 'node:http';
import truth from '../plant/truth.cjs';
import upstreams from '../plant/upstream.cjs';

const upstream = await upstreams.startUpstream();
const agent = new http.Agent({ keepAlive: true });
let loading;

function ask() {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: upstream.port, path: '/50', agent };
    const answered = (answer) => {
      let text = '';
      answer.on('data', (chunk) => {
        text += chunk;
      });
      answer.on('end', () => resolve(JSON.parse(text)));
    };
    http.get(options, answered).on('error', reject);
  });
}

async function load() {
  const value = await ask();
  loading = undefined;
  return value;
}

async function cached(planted, response) {
  planted.resource('upstream', upstream.address);
  planted.note('ask');
  loading ??= load();
  planted.noteTurnEnd('askEnd');
  const { answeredNs } = await loading;
  planted.note('answered');
  planted.set('sentBack', answeredNs);
  planted.answer(response);
}

const server = createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url.startsWith('/cached')) cached(planted, response);
  else planted.answer(response);
});
truth.listen(server);
