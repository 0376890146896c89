// A route that reads a property of objects no two of which have the same shape.
'use strict';

const http = require('node:http');
const truth = require('../plant/truth.cjs');

const REQUESTS = 24;
const OBJECTS = 400;
/** So long a way to the property that finding it takes most of what a miss costs. */
const PROTOTYPES = 3_000;

/** An object whose property is that far up its chain of prototypes. */
function ancestor() {
  let object = { value: 1 };
  for (let i = 0; i < PROTOTYPES; i += 1) object = Object.create(object);
  return object;
}

const old = ancestor();

/** Objects no two of which have the same shape: a shape has one prototype. */
function strangers() {
  return Array.from({ length: OBJECTS }, () => Object.create(Object.create(old)));
}

const parent = Object.create(old);
const alike = Array.from({ length: OBJECTS }, () => Object.create(parent));
/** Made before they are asked for: making them misses, too. */
const groups = Array.from({ length: REQUESTS }, strangers);

function total(objects) {
  let sum = 0;
  for (let i = 0; i < objects.length; i += 1) sum += objects[i].value;
  return sum;
}

// Compiled, and known to have seen many shapes.
total(strangers());
total(alike);

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/strangers') {
    const group = groups.pop();
    planted.spend('misses', () => total(group));
    // The same without a miss.
    planted.spend('hits', () => total(alike));
  }
  planted.answer(response);
});
truth.listen(server);
