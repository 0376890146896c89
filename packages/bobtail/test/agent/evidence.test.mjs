/**
 * A hop for which there is no evidence must be told as inferred: the analysis may guess, but not
 * pass a guess for what was seen.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { get, nodes, serve } from './nodes.mjs';

const { explain: analyzeRequest } = createRequire(import.meta.url)('../../dist/index.js');
const later = (delayMs) => new Promise((done) => setTimeout(done, delayMs));

/** Records `count` requests of `route`, all asked before one is answered, and explains each. */
async function explained(node, route, count) {
  const drive = async (port) => {
    const all = [];
    for (let i = 1; i <= count; i++) {
      all.push(get(port, `/${route}/${i}`));
      await later(4);
    }
    await Promise.all(all);
  };
  const env = { LINES: String(count) };
  const end = await serve(node, 'callback-queue.cjs', drive, { env });
  const answers = [];
  for (let rank = 1; answers.length < count; rank++) {
    const answer = await analyzeRequest(end.folder, { slowest: rank });
    if (answer.route === `GET /${route}/:id`) answers.push(answer);
  }
  return answers;
}

/** None of these requests waits for a timer. */
const isRight = ({ segments }) =>
  !segments.some(({ kind, resource }) => kind === 'io' && /^timer/.test(resource ?? ''));

for (const node of nodes) {
  const version = execFileSync(node, ['-v'], { encoding: 'utf8' }).trim();
  for (const route of ['queue', 'emitter']) {
    test(`${route}: alone on the socket, the writer is known (${version})`, async () => {
      const [answer] = await explained(node, route, 1);
      assert.ok(isRight(answer), JSON.stringify(answer.segments));
      assert.equal(answer.inferredHops, 0);
    });

    test(`${route}: several at a time are right or inferred (${version})`, async () => {
      const answers = await explained(node, route, 4);
      for (const answer of answers) {
        const told = isRight(answer) || answer.inferredHops > 0 || answer.truncated;
        assert.ok(told, JSON.stringify(answer.segments));
        const deduced = answer.segments.filter(({ inferred }) => inferred);
        assert.equal(deduced.length > 0, answer.inferredHops > 0);
        assert.ok(deduced.every(({ exact }) => !exact));
      }
      // Or the decoys decoy nobody.
      assert.ok(answers.some(({ inferredHops }) => inferredHops > 0));
    });
  }

  test(`twice: two questions of one request (${version})`, async () => {
    const [answer] = await explained(node, 'twice', 1);
    assert.ok(isRight(answer) || answer.inferredHops > 0, JSON.stringify(answer.segments));
  });
}
