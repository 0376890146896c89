// A route whose garbage is copied before it dies, and one that has the whole heap collected.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

const OBJECTS = 60_000;
/** Kept for so long that scavenges have to copy them. */
const young = Array.from({ length: 8_000 });
/** Lives for good: what a full collection marks. */
const old = Array.from({ length: 100_000 }, (_, id) => ({ id, name: `name ${id}`, tags: [id] }));

function churn() {
  for (let i = 0; i < OBJECTS; i += 1) {
    young[i % young.length] = { id: i, name: `name ${i}`, tags: [i, i + 1, i + 2] };
  }
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/churn') churn();
  // Node's own flag; a full collection of V8.
  else if (request.url === '/full') globalThis.gc();
  planted.live = old.length;
  planted.answer(response);
});
truth.exitWhenTold();
truth.listen(server);
