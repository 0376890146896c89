// Makes objects that are dead at once, or a turn of the loop later, and garbage beside them, for
// `old-closures.mjs`, which has V8 tell how much survives.
//
//   node bench/boost/closures.cjs literal|assigned|commands [hooks]
'use strict';

const { promiseHooks } = require('node:v8');
const { Command } = require('ioredis');

const OBJECTS = 20_000;
const EACH_TURN = 3;
/** Of garbage beside each. */
const ROWS = 40;
const [, , kind, hooks] = process.argv;
const pending = [];
let made = 0;

const KINDS = {
  // The closure is made where the object is.
  literal() {
    const rows = [made];
    return { rows, settle: (row) => rows.push(row) };
  },
  // The same one, into a property that is there: V8 makes it old.
  assigned() {
    const rows = [made];
    const object = { rows, settle: undefined };
    object.settle = (row) => rows.push(row);
    return object;
  },
  // What ioredis makes of each question to Redis, with a promise that is awaited.
  commands() {
    const command = new Command('get', [`key:${made}`]);
    pending.push(command);
    setImmediate(() => pending.shift().resolve(Buffer.from('x')));
    return command.promise;
  },
};

async function makeOne() {
  made += 1;
  await KINDS[kind]();
  const rows = Array.from({ length: ROWS }, (_, id) => ({ id, name: `row ${id}`, tags: [id] }));
  JSON.parse(JSON.stringify(rows));
}

function turn() {
  for (let n = 0; n < EACH_TURN; n += 1) makeOne();
  if (made < OBJECTS) setTimeout(turn, 1);
}

if (hooks === 'hooks') {
  promiseHooks.createHook({ init: () => undefined, before: () => undefined });
}
turn();
