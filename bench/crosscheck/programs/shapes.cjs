// Reads and writes properties of objects whose shapes never repeat, so that inline caches miss.
'use strict';

const { serve } = require('./serve.cjs');

function area(shape) {
  return shape.width * shape.height + shape.depth;
}

function shaped(turn, n) {
  const shape = {};
  shape[`only${(turn * 977 + n) % 20_011}`] = n;
  shape.width = n;
  shape.height = turn;
  shape.depth = 1;
  return shape;
}

serve((turn) => {
  let sum = 0;
  for (let n = 0; n < 900; n += 1) {
    const shape = shaped(turn, n);
    sum += area(shape) + Object.keys(shape).length;
  }
  for (let i = 0; i < 400_000; i += 1) sum = (sum * 31 + i) % 65_521;
  return sum;
});
