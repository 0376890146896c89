// The program whose start is measured: `program.cjs SCRIPT CACHE [make]`, CACHE `none` for none.
// It loads what has a code cache in its first request: the recorder begins when it listens.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const vm = require('node:vm');

const FUNCTIONS = 20_000;
/** Modules of Node that a server has not loaded; each has a cache in the binary. */
const MODULES = ['http2', 'stream/web', 'crypto', 'readline', 'test', 'inspector', 'repl'];
const [script, cache, make] = process.argv.slice(2);

/** Functions that are compiled with the script, for the parentheses. */
function source() {
  const one = (_, i) => `(function (a, b) { const c = a * ${i}; return c > b ? { a, c } : [b]; });`;
  return Array.from({ length: FUNCTIONS }, one).join('\n');
}

/** Milliseconds of CPU that `body` takes. */
function cpuMs(body) {
  const before = process.cpuUsage();
  body();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e3;
}

function measure() {
  const text = fs.readFileSync(script, 'utf8');
  const cachedData = cache === 'none' ? undefined : fs.readFileSync(cache);
  let compiled;
  const scriptMs = cpuMs(() => (compiled = new vm.Script(text, { cachedData })));
  const modulesMs = cpuMs(() => {
    for (const name of MODULES) require(`node:${name}`);
  });
  return { accepted: compiled.cachedDataRejected === false, scriptMs, modulesMs };
}

if (make) {
  fs.writeFileSync(script, source());
  fs.writeFileSync(cache, new vm.Script(source()).createCachedData());
} else {
  const server = http.createServer((_, response) => response.end(JSON.stringify(measure())));
  server.listen(0, '127.0.0.1', () => {
    http.get({ port: server.address().port, agent: false }, (response) => {
      response.pipe(process.stdout);
      response.once('end', () => server.close());
    });
  });
}
