// That the turn of an arm on one service is waited for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nowMs, onDuty } from '../harness/turns.mjs';
import { EACH_MS, LATE_MS_MAX, OneService } from './one-service.mjs';

test('the next turn is that of who has it first, and its beginning is waited for', async () => {
  const shared = Object.assign(new OneService(), { count: 2 });
  const place = shared.next([0, 1]);
  await shared.untilTurnOf(place);
  const beginMs = nowMs();
  assert.equal(onDuty(Math.floor(beginMs / EACH_MS), 2), place);
  assert.ok(beginMs % EACH_MS < 2 * LATE_MS_MAX, 'it has just begun');
});
