/**
 * Names: what is cut, what is replaced, and that their number is bounded.
 */

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';

const load = createRequire(import.meta.url);
const { pathOf, patternOf } = load('../../dist/agent/path-pattern.js');
const { startNames } = load('../../dist/agent/names.js');
const { routeName, sourceName } = load('../../dist/agent/route.js');
const { timerResource } = load('../../dist/agent/timer-names.js');
const { addMechanisms, attempt, knownMechanisms } = load('../../dist/agent/mechanisms.js');
const { readSettings } = load('../../dist/agent/settings.js');

/** A string table that only counts. */
function table() {
  const texts = [];
  startNames((text) => {
    const known = texts.indexOf(text);
    return known >= 0 ? known + 1 : texts.push(text);
  });
  return texts;
}

test('queries are cut, long paths are shortened', () => {
  assert.equal(pathOf('/a/b?token=1?x'), '/a/b');
  assert.equal(pathOf(`/${'y'.repeat(500)}`).length, 121);
});

test('only identifiers are replaced', () => {
  const patterns = {
    '/users/42': '/users/:id',
    '/v2/users': '/v2/users',
    '/o/0f8fad5b-d9cb-469f-a165-70867728950e/x': '/o/:id/x',
    '/blob/da39a3ee5e6b4b0d3255bfef95601890afd80709': '/blob/:id',
    '/feedface': '/feedface',
    '/deadbeef12': '/:id',
    '/login/eyJhbGciOiJIUzI1NiIsInR5cCI6': '/login/:id',
    '/a-very-long-article-title-in-words': '/a-very-long-article-title-in-words',
    '/': '/',
    '*': '*',
  };
  for (const [path, pattern] of Object.entries(patterns)) assert.equal(patternOf(path), pattern);
});

test('paths become patterns, many patterns (other), and routes are told apart from both', () => {
  const texts = table();
  for (let i = 0; i < 3000; i++) sourceName('GET', `/items/${i}?q=${i}`);
  assert.deepEqual(texts, ['GET /items/:id']);
  for (let i = 0; i < 3000; i++) sourceName('GET', `/word${i}x`);
  assert.equal(texts.at(-1), '(other)');
  assert.equal(texts.length, 1001);
  assert.equal(texts[routeName('GET', '/real') - 1], 'GET /real');
  for (let i = 0; i < 3000; i++) routeName('GET', `/route${i}x`);
  assert.equal(texts.length, 2000 + 1);
  assert.equal(routeName('GET', undefined), 0);
});

test('timers are named by their delay, many delays by their magnitude', () => {
  const texts = table();
  timerResource(20);
  timerResource(20.7);
  timerResource(undefined);
  assert.deepEqual(texts, ['timer 20ms', 'timer 1ms']);
  for (let i = 1000; i < 2000; i++) timerResource(i);
  assert.equal(texts.length, 257);
  assert.equal(texts.at(-1), 'timer >=1000ms');
});

test('mechanisms have unique names, and a failure stays told', () => {
  const broken = () => {
    throw new Error('no such method\nand more');
  };
  attempt('client pg/lib/client.js', () => undefined);
  attempt('client pg/lib/client.js', broken);
  attempt('client pg/lib/client.js', () => undefined);
  addMechanisms([
    { name: 'timers', ok: true },
    { name: 'new one', ok: true },
  ]);
  assert.deepEqual(knownMechanisms(), [
    { name: 'client pg/lib/client.js', ok: false, reason: 'no such method' },
    { name: 'runs of the timer list', ok: true },
    { name: 'new one', ok: true },
  ]);
});

test('package managers, other processes and disabled ones are left alone', () => {
  const env = { BOBTAIL_DIR: '/r', BOBTAIL_DETAIL: 'loop', BOBTAIL_MAX_BYTES: '5000' };
  const settings = {
    folder: '/r',
    detail: 'loop',
    maxBytes: 5000,
    maxTotalBytes: 0,
    notRunning: false,
  };
  assert.deepEqual(readSettings(env, ['node', '/app/server.js']), settings);
  assert.deepEqual(readSettings(env, ['node']), settings);
  const managers = ['/usr/bin/npm', '/x/npm-cli.js', 'npx', '/a/yarn-4.1.0.cjs', '/c/corepack.js'];
  for (const path of managers) assert.equal(readSettings(env, ['node', path]), undefined, path);
  assert.equal(readSettings({ ...env, BOBTAIL_DISABLED: '1' }, ['node']), undefined);
  assert.equal(readSettings({}, ['node', '/app/server.js']), undefined);
});
