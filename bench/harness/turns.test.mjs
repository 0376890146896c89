// Whose turn it is on one service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onDuty } from './turns.mjs';

const turnsOf = (count, turns) => Array.from({ length: turns }, (_, turn) => onDuty(turn, count));

test('turns are those that the policies have (crates/policy/tests/drawn.rs)', () => {
  assert.equal(turnsOf(2, 8).join(''), '01100110');
  assert.equal(turnsOf(3, 18).join(''), '012120201210021102');
  assert.equal(turnsOf(4, 16).join(''), '0132120323103021');
});

test('each comes as often after each other one', () => {
  for (const count of [2, 3, 4, 5, 6]) {
    const turns = turnsOf(count, 2 * count * count);
    const rounds = turns.map((place, turn) => [turn, turns[turn - 1], place]);
    const pairs = rounds.filter(([turn]) => turn % count > 0).map(([, ...pair]) => pair.join());
    const kinds = [...new Set(pairs)];
    assert.equal(kinds.length, count * (count - 1));
    const times = kinds.map((kind) => pairs.filter((pair) => pair === kind).length);
    assert.deepEqual([...new Set(times)], [2]);
  }
});
