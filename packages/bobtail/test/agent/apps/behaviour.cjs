/**
 * Prints what an application can observe of the functions the agent wraps, as JSON.
 *
 * Run once without and once with the agent: the two outputs must be the same.
 */

const { AsyncLocalStorage, AsyncResource, createHook } = require('node:async_hooks');
const childProcess = require('node:child_process');
const http = require('node:http');
const net = require('node:net');
const timers = require('node:timers');
const timerPromises = require('node:timers/promises');
const util = require('node:util');
const { MessageChannel, MessagePort, Worker } = require('node:worker_threads');
const { note, seen, thrown } = require('./noted.cjs');

const early = new AsyncLocalStorage();
const captured = { setTimeout, nextTick: process.nextTick, queueMicrotask, setImmediate };

function shapes() {
  const functions = {
    setTimeout,
    setInterval,
    setImmediate,
    queueMicrotask,
    nextTick: process.nextTick,
    end: http.ServerResponse.prototype.end,
    listen: net.Server.prototype.listen,
    addRequest: http.Agent.prototype.addRequest,
    onSocket: http.ClientRequest.prototype.onSocket,
    spawn: childProcess.ChildProcess.prototype.spawn,
    bind: AsyncResource.bind,
    sleep: timerPromises.setTimeout,
    turn: timerPromises.setImmediate,
    wait: timerPromises.scheduler.wait,
    yield: timerPromises.scheduler.yield,
    post: MessagePort.prototype.postMessage,
    postToWorker: Worker.prototype.postMessage,
    ...require('node:v8').promiseHooks,
  };
  for (const [name, f] of Object.entries(functions)) {
    const keys = Reflect.ownKeys(f).map(String).sort();
    note(`shape ${name}`, [f.name, f.length, keys, util.inspect(f)]);
  }
  for (const name of ['setTimeout', 'setImmediate', 'queueMicrotask']) {
    note(`global ${name}`, [
      describe(globalThis, name),
      globalThis[name] === (timers[name] ?? globalThis[name]),
    ]);
  }
  note('global nextTick', describe(process, 'nextTick'));
  note('keys of a promise', Reflect.ownKeys(Promise.resolve(1)).length);
  note('inspect of a promise', util.inspect(Promise.resolve({ a: 1 })).replace(/\d+/g, 'N'));
  const timer = setTimeout(() => undefined, 1);
  note('keys of a timer', Reflect.ownKeys(timer).map(String));
  note('timer is a Timeout', timer.constructor.name);
  clearTimeout(timer);
}

const describe = (object, name) => {
  const { value, ...rest } = Object.getOwnPropertyDescriptor(object, name);
  return { ...rest, type: typeof value };
};

function errors() {
  note(
    'setTimeout(1)',
    thrown(() => setTimeout(1)),
  );
  note(
    'setInterval()',
    thrown(() => setInterval()),
  );
  note(
    'setImmediate(null)',
    thrown(() => setImmediate(null)),
  );
  note(
    'nextTick()',
    thrown(() => process.nextTick()),
  );
  note(
    'nextTick(3)',
    thrown(() => process.nextTick(3, 4)),
  );
  note(
    'queueMicrotask({})',
    thrown(() => queueMicrotask({})),
  );
  note(
    'setTimeout symbol',
    thrown(() => setTimeout(() => undefined, Symbol('x'))),
  );
  note(
    'listen(-1)',
    thrown(() => net.createServer().listen(-1)),
  );
  note(
    'AsyncResource.bind(1)',
    thrown(() => AsyncResource.bind(1)),
  );
}

async function timersBehave() {
  const sum = (...args) => args.reduce((a, b) => a + b, 0);
  const viaTimeout = (...args) =>
    new Promise((done) => setTimeout((...given) => done(sum(...given)), 1, ...args));
  note('timeout args', [await viaTimeout(), await viaTimeout(1), await viaTimeout(1, 2, 3, 4, 5)]);
  const receiver = new Promise((done) => {
    const timer = setTimeout(function () {
      done(this === timer && typeof this.refresh === 'function');
    }, 1);
  });
  note('timeout receiver', await receiver);
  note('no delay', await new Promise((done) => setTimeout(() => done('ran'))));
  note('immediate', [
    await new Promise((done) => setImmediate((...args) => done(sum(...args)), 1, 2, 3)),
    await new Promise((done) => {
      const immediate = setImmediate(function () {
        done(this === immediate);
      });
    }),
  ]);
  note('promisified', [
    await util.promisify(setTimeout)(1, 'value'),
    await util.promisify(setImmediate)('now'),
    util.promisify(setTimeout) === require('node:timers/promises').setTimeout,
    await timers.promises.setTimeout(1, 'p'),
  ]);
  let ran = 0;
  clearTimeout(+setTimeout(() => ran++, 1));
  clearTimeout(String(+setTimeout(() => ran++, 1)));
  clearImmediate(setImmediate(() => ran++));
  setTimeout(() => ran++, 1).close();
  const refreshed = setTimeout(() => ran++, 20);
  note('refresh returns the timer', refreshed.refresh() === refreshed);
  note('unref', [refreshed.unref().hasRef(), refreshed.ref().hasRef()]);
  clearTimeout(refreshed);
  await new Promise((done) => setTimeout(done, 30));
  note('cleared timers ran', ran);
  let periods = 0;
  const args = await new Promise((done) => {
    const interval = setInterval(
      (...given) => {
        if (++periods < 3) return;
        clearInterval(interval);
        done(given);
      },
      1,
      'a',
      'b',
    );
  });
  await new Promise((done) => setTimeout(done, 10));
  note('interval', [periods, args]);
}

async function timerPromisesBehave() {
  const { setTimeout: sleep, setImmediate: turn, scheduler } = timerPromises;
  const failed = (promise) =>
    promise.then(
      () => 'nothing',
      (error) => `${error.name} ${error.code} ${error.message}`,
    );
  note('promise values', [
    await sleep(1),
    await sleep(1, 'a'),
    await sleep(),
    await sleep(undefined, 'b'),
    await sleep(Number.NaN, Promise.resolve('c')),
    await sleep(1, 'd', { ref: true }),
    await turn('e'),
    await turn('f', {}),
    await scheduler.wait(1),
    await scheduler.wait(1, {}),
    await scheduler.yield(),
  ]);
  const aborted = { signal: AbortSignal.abort() };
  note('promise errors', [
    await failed(sleep('1')),
    await failed(sleep(null)),
    await failed(sleep(1, 1, null)),
    await failed(sleep(1, 1, { signal: 1 })),
    await failed(sleep(1000, 1, aborted)),
    await failed(turn(1, aborted)),
    await failed(scheduler.wait('1')),
    await failed(scheduler.wait(1000, aborted)),
    thrown(() => scheduler.wait.call({}, 1)),
    thrown(() => scheduler.yield.call({})),
    thrown(() => new scheduler.wait(1)),
  ]);
  const abort = new AbortController();
  const pending = failed(sleep(1000, 1, abort));
  abort.abort();
  note('promise aborted later', await pending);
  // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
  note('thenable value', await sleep(1, { then: (done) => done('taken') }));
  note('promise is plain', sleep(1).constructor === Promise);
  const made = [];
  const hook = createHook({ init: (_id, type) => made.push(type) }).enable();
  const both = [sleep(1), turn()];
  hook.disable();
  await Promise.all(both);
  note('promise resources', made);
}

async function microBehaves() {
  const order = [];
  await new Promise((done) => {
    setImmediate(() => {
      process.nextTick(function () {
        order.push(['tick receiver', this === undefined || this === globalThis]);
      });
      process.nextTick((...args) => order.push(args), 1);
      process.nextTick((...args) => order.push(args), 1, 2);
      process.nextTick((...args) => order.push(args), 1, 2, 3, 4);
      queueMicrotask((...args) => order.push(['microtask', args.length]));
      Promise.resolve().then(() => order.push(['then']));
      captured.nextTick(() => order.push(['captured tick']));
      process.nextTick(() => order.push(['last tick']));
      setImmediate(done);
    });
  });
  note('order', order);
}

async function contexts() {
  const late = new AsyncLocalStorage();
  for (const [name, storage] of Object.entries({ early, late })) {
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        storage.run(i, async () => {
          await null;
          await new Promise((done) => setTimeout(done, 1));
          await new Promise((done) => process.nextTick(done));
          await new Promise((done) => queueMicrotask(done));
          await new Promise((done) => setImmediate(done));
          await util.promisify(require('node:fs').stat)(__filename);
          return storage.getStore() === i;
        }),
      ),
    );
    note(`context kept (${name})`, results.filter(Boolean).length);
  }
  const bound = early.run('bound', () =>
    AsyncResource.bind(function three(a, b, c) {
      return [this?.tag, a, b, c, early.getStore()];
    }),
  );
  note('AsyncResource.bind', [bound.length, bound.call({ tag: 1 }, 2, 3, 4)]);
  const resource = new AsyncResource('MINE');
  note('resource.bind', resource.bind((a) => a + 1)(4));
}

async function messages() {
  const { port1, port2 } = new MessageChannel();
  const next = (target) => new Promise((done) => target.once('message', done));
  const arrived = next(port2);
  const returned = port1.postMessage({ a: [1] });
  note('message', [returned, await arrived, Reflect.ownKeys(port1).length]);
  note(
    'message that can not be cloned',
    thrown(() => port1.postMessage(() => undefined)),
  );
  const emitted = [];
  port2.on('message', (value) => emitted.push(value));
  port2.emit('message', 'emitted');
  const bytes = new ArrayBuffer(8);
  const moved = next(port2);
  port1.postMessage(bytes, [bytes]);
  note('message moved', [(await moved).byteLength, bytes.byteLength, emitted.length]);
  port1.close();
  const worker = new Worker(
    "require('worker_threads').parentPort.on('message', (m) => { throw new Error(m) })",
    { eval: true },
  );
  worker.postMessage('planted');
  note(
    'error of a worker',
    await new Promise((done) => worker.on('error', (e) => done(e.message))),
  );
}

async function uncaught() {
  const messages = [];
  process.on('uncaughtException', (error) => messages.push(error.message));
  process.on('unhandledRejection', (error) => messages.push(error.message));
  const fail = (text) => () => {
    throw new Error(text);
  };
  process.nextTick(fail('tick'));
  setTimeout(fail('timeout'), 1);
  setImmediate(fail('immediate'));
  queueMicrotask(fail('microtask'));
  Promise.reject(new Error('rejection'));
  await new Promise((done) => setTimeout(done, 30));
  note('uncaught', messages.sort());
}

async function deepRecursion() {
  const deep = async () => {
    await deep();
  };
  let caught = 0;
  for (let i = 0; i < 5; i++)
    await deep().catch((error) => (caught += error instanceof RangeError));
  note('stack overflows caught', caught);
}

async function children() {
  const child = childProcess.spawn(process.execPath, ['-e', 'process.exit(3)'], {
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  note('child', await new Promise((done) => child.on('exit', (...args) => done(args))));
  const missing = childProcess.spawn('/nonexistent/program');
  note('missing child', await new Promise((done) => missing.on('error', (e) => done(e.code))));
}

async function serving() {
  const server = http.createServer((request, response) => {
    const result = response.end(`${request.url} ${early.getStore()}`, 'utf8', () => undefined);
    note('end returns the response', result === response);
  });
  note('listen returns', server.listen(0, '127.0.0.1') === server);
  await new Promise((done) => server.on('listening', done));
  note('listeners left', server.listenerCount('listening'));
  const agent = new http.Agent({ maxSockets: 1, keepAlive: true });
  const get = (path) =>
    new Promise((done, fail) => {
      const { port } = server.address();
      http
        .get({ host: '127.0.0.1', port, path, agent }, (response) => {
          let body = '';
          response.on('data', (chunk) => (body += chunk)).on('end', () => done(body));
        })
        .on('error', fail);
    });
  note(
    'responses',
    await Promise.all(['/a', '/b?x=1', '/c'].map((path) => early.run(path, () => get(path)))),
  );
  agent.destroy();
  server.close();
}

async function main() {
  await early.run('main', () => Promise.resolve());
  // The recording starts with the first listen, so everything is observed after it.
  await serving();
  shapes();
  errors();
  await timersBehave();
  await timerPromisesBehave();
  await microBehaves();
  await contexts();
  await deepRecursion();
  await children();
  await messages();
  await uncaught();
  console.log(JSON.stringify(seen, null, 1));
}

main();
