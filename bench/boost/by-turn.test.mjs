// Policies on one service turn by turn: ratios of drawn turns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LatencyHistogram } from '../harness/latency-histogram.mjs';
import { compareByTurn, turnsOf } from './by-turn.mjs';

/** A round of turns, each with 1,000 requests of 1 to 1.999 times `ms`. */
function cell({ round = 1, turns, ms, boostedShare }) {
  const histogram = new LatencyHistogram();
  for (let n = 0; n < 1000; n += 1) histogram.add(ms * (1 + n / 1000));
  const latenciesAtService = histogram.toText();
  const byTurn = turns.map((turn) => ({ turn, boostedShare, latenciesAtService }));
  return { round, byTurn };
}

test('ratios are of the turns that count in all arms, and of their services in the mean', () => {
  const first = turnsOf([
    [cell({ turns: [0, 1, 3], ms: 10, boostedShare: 0.04 })],
    [cell({ turns: [1, 2, 3], ms: 5, boostedShare: 0.02 })],
  ]);
  assert.equal(first.length, 2);
  const second = turnsOf([
    [cell({ turns: [0, 1], ms: 3, boostedShare: 0.01 })],
    [cell({ turns: [0, 1], ms: 6, boostedShare: 0.02 })],
  ]);
  const { services, all } = compareByTurn([first, second], [1], [0]);
  const close = ({ ratio }, wanted) => assert.ok(Math.abs(ratio / wanted - 1) < 0.01, `${ratio}`);
  close(services[0].p99, 0.5);
  close(services[0].premium, 0.5);
  close(services[1].p999, 2);
  close(all.p99, 1);
  close(all.premium, 1);
  assert.ok(all.p99.low <= all.p99.ratio && all.p99.ratio <= all.p99.high);
  assert.ok(Math.abs(services[0].p99.high / services[0].p99.low - 1) < 0.01, 'turns are alike');
});

test('a percentile is that of all requests to the width of a bucket', () => {
  const long = cell({ turns: [0], ms: 10, boostedShare: 0 });
  const short = cell({ turns: [0], ms: 1, boostedShare: 0 });
  // Of 2,000 the slowest hundredth begins at 19.8 ms, and of the short ones alone at 1.99.
  const turns = turnsOf([[long], [short]]);
  const { services } = compareByTurn([turns], [0, 1], [1]);
  assert.ok(Math.abs(services[0].p99.ratio / (19.8 / 1.99) - 1) < 0.01);
});
