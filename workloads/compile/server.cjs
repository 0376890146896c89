// Routes that compile code for each request: a script, an eval, a function when it is called.
'use strict';

const http = require('node:http');
const vm = require('node:vm');
const truth = require('../plant/truth.cjs');

/** Few, and large: V8 writes slices for each, and drops them if their writer is not run. */
const FUNCTIONS = 60;
const STATEMENTS = 100;
const CASES = 4_000;
let sources = 0;

/** Functions that V8 compiles at once, for the parentheses; never the same text twice. */
function functions() {
  sources += 1;
  const statement = (_, i) => `c = a * ${i} + ${sources}; if (c > b) return [c];`;
  const body = Array.from({ length: STATEMENTS }, statement).join(' ');
  const one = (_, i) => `(function (a, b) { let c = ${i}; ${body} return a; });`;
  return Array.from({ length: FUNCTIONS }, one).join('\n');
}

/** One large function, compiled when it is called; the call itself takes next to nothing. */
function large() {
  sources += 1;
  const cases = Array.from({ length: CASES }, (_, i) => `case ${i}: return a + ${i} * ${sources};`);
  return `function large(a) { switch (a) { ${cases.join(' ')} } } large;`;
}

const COMPILE = {
  '/script': { text: functions, compile: (text) => new vm.Script(text) },
  // biome-ignore lint/security/noGlobalEval: this is what is planted
  '/eval': { text: functions, compile: (text) => globalThis.eval(text) },
  '/lazy': { text: large, compile: (text) => vm.runInThisContext(text)(-1) },
};

const server = http.createServer((request, response) => {
  const planted = truth.begin(request);
  const route = COMPILE[request.url];
  if (route) {
    const text = route.text();
    route.compile(text);
  }
  planted.answer(response);
});
truth.exitWhenTold();
truth.listen(server);
