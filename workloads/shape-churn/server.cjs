// A route that reads a property of objects no two of which have the same shape.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

/** Few enough that V8 remembers the shapes of all of them once it has seen them. */
const OBJECTS = 400;
const ROUNDS = 20;
let shapes = 0;

/** Objects of new shapes: each has a property of its own before the one that is read. */
function strangers() {
  return Array.from({ length: OBJECTS }, () => {
    shapes += 1;
    return { [`own${shapes}`]: 1, value: 1 };
  });
}

function total(objects) {
  let sum = 0;
  for (let i = 0; i < objects.length; i += 1) sum += objects[i].value;
  return sum;
}

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  for (let round = 0; request.url === '/strangers' && round < ROUNDS; round += 1) {
    const objects = strangers();
    planted.spend('misses', () => total(objects));
    // The same again, without a miss.
    planted.spend('hits', () => total(objects));
  }
  planted.answer(response);
});
truth.listen(server);
