// What is measured again, and how often: a failure that the host did not cause must stay one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { undisturbed } from './undisturbed.mjs';

const TICK_NS = 10_000_000;

/** Fails in the given tries (from 1), and the host takes a tick in those of `disturbed`. */
function machine({ fails, disturbed }) {
  let tries = 0;
  let takenNs = 0;
  const repeated = [];
  const outcome = undisturbed(
    async () => {
      tries += 1;
      if (disturbed(tries)) takenNs += TICK_NS;
      if (fails(tries)) throw new assert.AssertionError({ message: `try ${tries}` });
      return tries;
    },
    { toldNs: () => takenNs, repeated: (error, ns) => repeated.push([error.message, ns]) },
  );
  return { outcome, repeated };
}

const always = () => true;
const never = () => false;

test('what succeeds is measured once, whatever the host does', async () => {
  for (const disturbed of [always, never]) {
    assert.equal(await machine({ fails: never, disturbed }).outcome, 1);
  }
});

test('a failure on a machine that is left alone stays one', async () => {
  const { outcome, repeated } = machine({ fails: always, disturbed: never });
  await assert.rejects(outcome, /try 2$/);
  assert.deepEqual(repeated, [['try 1', 0]]);
});

test('a failure that comes back each time stays one though the host takes time', async () => {
  const { outcome, repeated } = machine({ fails: always, disturbed: always });
  await assert.rejects(outcome, /try 6$/);
  assert.equal(repeated.length, 5);
});

test('what failed while the host took time is measured again', async () => {
  const { outcome, repeated } = machine({ fails: (n) => n < 4, disturbed: (n) => n < 4 });
  assert.equal(await outcome, 4);
  assert.deepEqual(repeated[0], ['try 1', TICK_NS]);
});

test('what is no judgement of the recording is not measured again', async () => {
  const broken = async () => {
    throw new TypeError('broken');
  };
  const repeated = () => assert.fail('measured again');
  await assert.rejects(undisturbed(broken, { toldNs: () => null, repeated }), /broken/);
});
