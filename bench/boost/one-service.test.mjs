// Whose turn it is on one service, and that it is waited for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OneService, onDuty } from './one-service.mjs';

test('each round of turns begins with another policy, as the policies have it', () => {
  const turns = (count) =>
    Array.from({ length: 2 * count * count }, (_, turn) => onDuty(turn, count));
  assert.equal(turns(2).join(''), '01100110');
  assert.equal(turns(3).join(''), '012120201012120201');
});

test('the next turn is that of the place it begins for first, and is waited for', async () => {
  const shared = Object.assign(new OneService(), { count: 2 });
  const place = shared.next([0, 1]);
  await shared.untilTurnOf(place);
  const turn = Math.floor(Number(process.hrtime.bigint()) / 2.4e9);
  assert.equal(onDuty(turn, 2), place);
});
