/**
 * Prints what hooks on promises and AsyncLocalStorage tell an application, as JSON.
 *
 * Run without and with the agent, the outputs must be the same. A server listens first, because a
 * recording starts with that.
 */

const { AsyncLocalStorage, createHook, executionAsyncId, triggerAsyncId } =
  require('node:async_hooks');
const net = require('node:net');
const { promiseHooks } = require('node:v8');
const vm = require('node:vm');
const { note, seen, thrown } = require('./noted.cjs');

const turn = () => new Promise((done) => setImmediate(done));
const early = new AsyncLocalStorage();

async function storages() {
  const [one, two] = [new AsyncLocalStorage(), new AsyncLocalStorage()];
  const stores = () => [one.getStore(), two.getStore(), early.getStore()];
  const steps = [];
  await one.run(1, async () => {
    await null;
    steps.push(stores());
    await two.run(2, async () => {
      await turn();
      steps.push(stores());
      await one.exit(async () => {
        await turn();
        steps.push(stores());
      });
      steps.push(stores());
      two.enterWith(3);
      await turn();
      steps.push(stores());
    });
    const inside = AsyncLocalStorage.snapshot();
    await one.run(4, async () => {
      await null;
      steps.push(inside(stores));
    });
    two.disable();
    await turn();
    steps.push(stores());
  });
  one.disable();
  await turn();
  steps.push(stores());
  await one.run(5, turn);
  one.run(6, () => turn().then(() => steps.push(stores())));
  await turn();
  await turn();
  one.disable();
  early.disable();
  await turn();
  note('stores', steps);
}

/** What hooks of async_hooks see of the promises made in `work`, numbered in that order. */
async function watched(work) {
  const events = [];
  const ids = [];
  const names = ['before', 'after', 'promiseResolve'];
  const hook = createHook({
    init(asyncId, type, trigger) {
      if (type === 'PROMISE') events.push(['init', ids.push(asyncId) - 1, ids.indexOf(trigger)]);
    },
    ...Object.fromEntries(
      names.map((name) => [
        name,
        // Others than promises are not of this test, such as the timer that ends a burst.
        (asyncId) =>
          ids.includes(asyncId) &&
          events.push([name, ids.indexOf(asyncId), executionAsyncId() === asyncId]),
      ]),
    ),
  });
  hook.enable();
  await work(hook);
  hook.disable();
  await null;
  events.push(['disabled']);
  await turn();
  return events;
}

async function asyncHooks() {
  const chain = async () => {
    const inside = await Promise.resolve(1).then(() => [executionAsyncId() > triggerAsyncId()]);
    await null;
    return inside;
  };
  note('events of promises', await watched(chain));
  note('events of promises with a storage', await early.run('store', () => watched(chain)));
  note(
    'hooks enabled and disabled on the way',
    await watched(async (hook) => {
      await null;
      hook.disable();
      await null;
      hook.enable();
      await null;
      let inits = 0;
      const inner = createHook({ init: () => inits++ }).enable();
      await null;
      inner.disable();
      await turn();
      note('inits of an inner hook', inits > 0);
    }),
  );
  const outer = [];
  let inner;
  const self = createHook({
    init() {
      self.disable();
      inner = createHook({ before: () => outer.push('before') }).enable();
      outer.push('init');
    },
  }).enable();
  await Promise.resolve().then(() => undefined);
  inner.disable();
  await turn();
  note('a hook that replaces itself', outer);
}

async function v8Hooks() {
  // V8 does not run the end of a reaction that began when there were no hooks at all.
  const stopFirst = promiseHooks.onInit(() => undefined);
  await turn();
  const counts = { init: 0, before: 0, after: 0, settled: 0, second: 0, parents: 0 };
  const count = (name) => () => {
    counts[name]++;
  };
  const chain = () => Promise.resolve(1).then((value) => value);
  const told = [];
  const tell = async (what) => {
    await chain();
    told.push([what, { ...counts }]);
  };
  const stop = promiseHooks.createHook({
    init(_promise, parent) {
      counts.init++;
      if (parent instanceof Promise) counts.parents++;
    },
    before: count('before'),
    after: count('after'),
    settled: count('settled'),
  });
  await tell('one');
  const stopSecond = promiseHooks.onInit(count('second'));
  await tell('two');
  await early.run('store', () => tell('two and a storage'));
  stop();
  stop();
  await tell('the second');
  const stopBefore = promiseHooks.onBefore(count('before'));
  early.disable();
  await tell('the second and before');
  stopSecond();
  stopBefore();
  stopFirst();
  await tell('none');
  const stopAfter = promiseHooks.onAfter(count('after'));
  const stopSettled = promiseHooks.onSettled(count('settled'));
  await turn();
  for (const name of Object.keys(counts)) counts[name] = 0;
  await tell('after and settled');
  stopAfter();
  stopSettled();
  note('calls of v8 hooks', told);
  const order = [];
  const stops = ['a', 'b', 'c'].map((name) => promiseHooks.onInit(() => order.push(name)));
  Promise.resolve(1);
  stops[0]();
  Promise.resolve(1);
  stops[2]();
  Promise.resolve(1);
  stops[1]();
  Promise.resolve(1);
  note('order', order);
  const context = vm.createContext({ count: 0 });
  const stopInit = promiseHooks.onInit(() => context.count++);
  vm.runInContext('Promise.resolve(1); Promise.resolve(2)', context);
  stopInit();
  vm.runInContext('Promise.resolve(3)', context);
  note('promises of another context', context.count);
}

async function failures() {
  const bad = { name: 'x' };
  for (const name of ['onInit', 'onBefore', 'onAfter', 'onSettled']) {
    note(
      `${name} of no function`,
      thrown(() => promiseHooks[name](bad)),
    );
  }
  note(
    'an async hook',
    thrown(() => promiseHooks.createHook({ init: async () => undefined })),
  );
  note(
    'createHook(null)',
    thrown(() => promiseHooks.createHook(null)),
  );
  note('createHook()', typeof promiseHooks.createHook());
  const uncaught = [];
  const listen = (error) => uncaught.push(error.message);
  process.on('uncaughtException', listen);
  let left = 2;
  const stop = promiseHooks.onInit(() => {
    if (left-- > 0) throw new Error(`init ${left}`);
  });
  await Promise.resolve(1).then(() => undefined);
  stop();
  await turn();
  process.off('uncaughtException', listen);
  note('uncaught', uncaught);
}

early.run('before listening', () => Promise.resolve());
const server = net.createServer().listen(0, '127.0.0.1', async () => {
  await storages();
  await asyncHooks();
  await v8Hooks();
  await failures();
  server.close();
  console.log(JSON.stringify(seen, undefined, 1));
});
