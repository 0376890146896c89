// Whether what replays predict lies in the interval of what came live: on figures made for it, and
// of the rounds that are kept.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BASE } from './arms.mjs';
import { cellsTogether } from './cells.mjs';
import { compared } from './compared.mjs';
import { byRoundsOfScheme, byScheme, conformance, offByRound } from './conformance.mjs';

/** Recorded in the same rounds. */
const KEPT = fileURLToPath(new URL('../runs/2026-11-25-boost-6', import.meta.url));
/** Likewise, with a third of I/O, and the base's flags for all that is predicted. */
const WITH_IO = fileURLToPath(new URL('../runs/2026-11-27-boost-11', import.meta.url));
/** The same services, with what requests took at these themselves, which is what a replay tells. */
const AT_SERVICE = fileURLToPath(new URL('../runs/2026-11-28-boost-12', import.meta.url));
/** Likewise, Combined and `deadline`, with the probe's own threads on the loop's core. */
const ON_THE_CORE = fileURLToPath(new URL('../runs/2026-11-28-boost-14', import.meta.url));
/** All four services, `deadline` at 0.9 and 0.2, who records aside; some rounds spoiled. */
const ALL_FOUR = fileURLToPath(new URL('../runs/2026-11-28-boost-15', import.meta.url));
/** All four in turns on one service, beside one that is recorded, at a higher load. */
const IN_TURNS = fileURLToPath(new URL('../runs/2026-11-29-boost-19', import.meta.url));
/** Likewise, with hooks on promises in all of them, and four policies, in three rounds. */
const HOOKED = fileURLToPath(new URL('../runs/2026-11-29-boost-22', import.meta.url));
/** Five rounds more of the same. */
const HOOKED_MORE = fileURLToPath(new URL('../runs/2026-11-29-boost-23', import.meta.url));
const OF_POSTGRES = fileURLToPath(new URL('../runs/2026-11-30-boost-24', import.meta.url));

test('what is not what came live is told', () => {
  const one = (service, told, live) => ({
    ...{ service, arm: 'combined' },
    tails: [{ percentile: 99, ratio: told }],
    live: [{ percentile: 99, ratio: live, low: live - 0.1, high: live + 0.1 }],
  });
  const of = (cells) => byScheme(cells).find(({ percentile }) => percentile === 99);
  const near = of([one('a', 0.62, 0.5), one('b', 0.62, 0.6), one('c', 0.58, 0.7)]);
  assert.equal(near.services, 3);
  assert.ok(Math.abs(near.live - 0.4) < 1e-9 && Math.abs(near.predicted - 0.3933) < 1e-3);
  // Of three services the interval is narrower than of one.
  assert.ok(Math.abs(near.high - near.live - 0.1 / Math.sqrt(3)) < 1e-9);
  assert.equal(near.isWithin, true);
  const off = of([one('a', 0.62, 0.5), one('b', 0.62, 0.6), one('c', 0.78, 0.7)]);
  assert.equal(off.isWithin, false);
  const unknown = one('a', 0.62, 0.5);
  unknown.live[0].low = null;
  assert.equal(of([unknown]).isWithin, undefined);
});

test('how far predictions are off is told of rounds that have both', () => {
  const one = (service, told, live) => ({
    ...{ service, arm: 'combined' },
    predicted: { byRound: new Map(told) },
    result: { numbers: live.map(([round]) => round), byRound: live.map(([, ratios]) => ratios) },
  });
  const found = [
    one(
      'a',
      [[1, [0.6, 0.5]]],
      [
        [1, [0.5, 0.5]],
        [2, [0.1, 0.1]],
      ],
    ),
    one(
      'b',
      [
        [1, [0.4, null]],
        [3, [0.3, 0.9]],
      ],
      [
        [1, [0.5, 0.4]],
        [3, [0.2, 0.6]],
      ],
    ),
    { ...one('c', [], []), predicted: null },
  ];
  const [p999, p99] = offByRound(found);
  assert.deepEqual([p999.rounds, p99.rounds], [3, 2]);
  assert.ok(Math.abs(p999.median - 1.2) < 1e-9 && p999.low < 0.81 && p999.high > 1.49);
  assert.ok(Math.abs(p99.median - 1.25) < 1e-9);
  for (const one of found) {
    const byRound = one.result.byRound.map((ratios) => ratios.map((r) => 2 * r));
    one.result.atService = { byRound };
  }
  assert.ok(Math.abs(offByRound(found, 'service')[0].median - 0.6) < 1e-9);
});

test('in the mean of rounds none has more to say for a longer tail', () => {
  const one = (service, told, live) => ({
    ...{ service, arm: 'combined' },
    predicted: { byRound: new Map(told.map((ratio, round) => [round, [null, ratio]])) },
    result: {
      numbers: live.map((_, round) => round),
      byRound: live.map((ratio) => [null, ratio]),
    },
  });
  const of = (cells) => byRoundsOfScheme(cells).find(({ percentile }) => percentile === 99);
  const live = [0.4, 0.5, 0.625];
  const near = of([one('a', [0.5, 0.5, 0.5], live), one('b', [0.6, 0.6, 0.6], live)]);
  assert.equal(near.services, 2);
  assert.ok(Math.abs(near.live - 0.5) < 1e-9);
  assert.ok(Math.abs(near.predicted - (1 - Math.sqrt(0.3))) < 1e-9);
  // By hand: a deviation of 0.2231 of logarithms, of two services of three, and t of 4 is 2.776.
  assert.ok(Math.abs(near.high - (1 - 0.5 * Math.exp((-2.776 * 0.22314) / Math.sqrt(6)))) < 1e-4);
  assert.equal(near.isWithin, true);
  const off = of([one('a', [0.8, 0.8, 0.8], live), one('b', [0.8, 0.8, 0.8], live)]);
  assert.equal(off.isWithin, false);
  assert.equal(of([one('a', [0.5], [0.5])]).isWithin, undefined);
});

test('rounds are put together of runs that were made alike, each once', () => {
  const arms = [...cellsTogether([HOOKED, HOOKED_MORE]).values()].map(({ arms }) => arms);
  assert.equal(arms.length, 4);
  for (const cells of arms.flatMap((one) => [...one.values()])) {
    assert.deepEqual(cells.map(({ round }) => round).sort(), [1, 2, 3, 4, 5, 6, 7, 8]);
  }
  // Of one service alone.
  const { arms: more } = cellsTogether([HOOKED, OF_POSTGRES]).get('postgres');
  assert.equal(more.get(BASE).length, 3 + 8);
  assert.throws(() => cellsTogether([HOOKED, HOOKED]), /two folders have round 1 of/);
  assert.throws(() => cellsTogether([HOOKED, IN_TURNS]), /boost-19 has other settings than/);
});

/** What is predicted and came live, by service and arm. */
let kept;

before(async () => {
  kept = await foundIn(KEPT);
});

async function foundIn(run, at) {
  const folders = [run].flat();
  const services = [];
  for (const [service, { arms }] of cellsTogether(folders)) {
    const results = new Map();
    for (const [arm, cells] of arms) results.set(arm, await compared(arms.get(BASE), cells));
    services.push([service, results]);
  }
  return (await conformance(services, folders, at)).filter(({ predicted }) => predicted !== null);
}

function keptOf(names) {
  const told = kept.filter(({ service }) => names.includes(service));
  assert.equal(told.length, 7 * names.length);
  return told;
}

function assertEnergies(told, offMax) {
  for (const { service, arm, predicted, result } of told) {
    const off = Math.abs(predicted.energy - result.energy);
    assert.ok(off <= offMax, `${service}, ${arm}: ${predicted.energy}, ${result.energy}`);
  }
}

/** How far a run's policies are off round by round at the service: each has 1 in its interval. */
async function offsAroundOne(run, { count, energyOffMax, rounds }) {
  const told = await foundIn(run, 'service');
  assert.equal(told.length, count);
  assertEnergies(told, energyOffMax);
  const offs = offByRound(told, 'service');
  assert.deepEqual(
    offs.map((one) => one.rounds),
    rounds,
  );
  for (const one of offs) assert.ok(one.low < 1 && one.high > 1, JSON.stringify(one));
  return offs;
}

const p99Of = (told) => byScheme(told).filter(({ percentile }) => percentile === 99);

test('p99 of postgres and redis comes as predicted, and so does the energy', () => {
  const told = keptOf(['postgres', 'redis']);
  assertEnergies(told, 0.01);
  const p99 = p99Of(told);
  assert.equal(p99.length, 7);
  for (const one of p99) assert.equal(one.isWithin, true, JSON.stringify(one));
});

test('with cpu and disk, whose intervals are narrower, it is near what comes', () => {
  const told = keptOf(['cpu', 'disk', 'postgres', 'redis']);
  assertEnergies(told, 0.0125);
  // Not within for Combined and `deadline`: recorded, a young generation of 4 MB has a longer tail.
  const p99 = p99Of(told);
  const without = p99.filter(({ isWithin }) => !isWithin).map(({ arm }) => arm);
  assert.deepEqual(without.sort(), ['combined', 'deadline']);
  for (const one of p99) {
    assert.ok(Math.abs(one.predicted - one.live) < 0.035, JSON.stringify(one));
  }
});

test('with a third of I/O p99.9 comes as predicted, and p99 less than that', async () => {
  const told = await foundIn(WITH_IO);
  assert.equal(told.length, 12);
  assertEnergies(told, 0.0075);
  const without = (percentile) =>
    told
      .filter(({ tails }) => tails.find((one) => one.percentile === percentile).isWithin !== true)
      .map(({ service, arm }) => `${service} ${arm}`);
  assert.deepEqual(without(99.9).sort(), ['postgres gc-boost', 'postgres static-3.3']);
  // The load has its core with Redis: what it waits for there no recording has.
  assert.equal(without(99).length, 9);
});

test('where the service is measured p99 and p99.9 of all schemes come as predicted', async () => {
  const told = await foundIn(AT_SERVICE, 'service');
  assert.equal(told.length, 12);
  assertEnergies(told, 0.0075);
  const schemes = byScheme(told);
  assert.equal(schemes.length, 12);
  for (const one of schemes) assert.equal(one.isWithin, true, JSON.stringify(one));
});

test('of four services round by round both policies come as predicted at the service', async () => {
  const rounds = Array(4).fill(32);
  const offs = await offsAroundOne(ALL_FOUR, { count: 8, energyOffMax: 0.0075, rounds });
  // The intervals are not so wide that anything would be in them.
  for (const one of offs) assert.ok(one.high - one.low < 0.5, JSON.stringify(one));
});

test('in turns on one service round by round both policies come as predicted there', async () => {
  const rounds = Array(6).fill(16);
  // Energies are predicted too high, most on `redis`.
  const offs = await offsAroundOne(IN_TURNS, { count: 12, energyOffMax: 0.0225, rounds });
  for (const { median } of offs) assert.ok(median > 0.9 && median < 1.1, String(median));
});

test('with hooks on promises in all p99 is near what comes in the mean, and by round', async () => {
  const rounds = Array(8).fill(12);
  await offsAroundOne(HOOKED, { count: 16, energyOffMax: 0.0085, rounds });
  const p99 = p99Of(await foundIn(HOOKED, 'service'));
  assert.equal(p99.length, 4);
  for (const { arm, predicted, live, isWithin } of p99) {
    // Three rounds have no interval: how near it came was known when this bound was set.
    assert.equal(isWithin, undefined);
    assert.ok(Math.abs(predicted - live) < 0.055, `${arm}: ${predicted}, ${live}`);
  }
});

test('of eight rounds with hooks in all both tails come as predicted in their mean', async () => {
  const five = await foundIn(HOOKED_MORE, 'service');
  const all = await foundIn([HOOKED, HOOKED_MORE], 'service');
  for (const found of [five, all]) {
    const schemes = byRoundsOfScheme(found, 'service');
    assert.equal(schemes.length, 8);
    for (const one of schemes) assert.equal(one.isWithin, true, JSON.stringify(one));
  }
  assertEnergies(all, 0.0125);
  for (const one of p99Of(all)) {
    // An interval that holds nearly anything would say nothing.
    assert.ok(one.isWithin && one.high - one.low < 0.18, JSON.stringify(one));
  }
  const outside = all.filter(({ tails }) =>
    tails.some((one) => one.percentile === 99 && !one.isWithin),
  );
  assert.deepEqual(outside.map(({ service, arm }) => `${service} ${arm}`).sort(), [
    'postgres combined-untuned',
    'postgres deadline-untuned',
    'postgres queue-boost',
  ]);
});

test('of sixteen rounds of postgres it is known what is not as predicted', async () => {
  const eight = await foundIn(OF_POSTGRES, 'service');
  const all = await foundIn([HOOKED, HOOKED_MORE, OF_POSTGRES], 'service');
  const sixteen = all.filter(({ service }) => service === 'postgres');
  const outside = [eight, sixteen, all].map((found) => {
    const schemes = byRoundsOfScheme(found, 'service');
    assert.equal(schemes.length, 8);
    return schemes.flatMap(({ isWithin, arm, percentile }) =>
      isWithin ? [] : [`${arm} ${percentile}`],
    );
  });
  assert.deepEqual(outside, [
    ['gc-boost 99.9', 'gc-boost 99'],
    ['queue-boost 99'],
    ['gc-boost 99'],
  ]);
});

test('in the mean of rounds it is known which figures are not as predicted', async () => {
  // Of kept rounds, known when this was written: with hooks in all none, whose intervals are wide.
  const outside = [];
  for (const run of [AT_SERVICE, ON_THE_CORE, ALL_FOUR, IN_TURNS, HOOKED]) {
    const schemes = byRoundsOfScheme(await foundIn(run, 'service'), 'service');
    const others = schemes.filter(({ isWithin }) => isWithin !== true);
    outside.push([schemes.length, ...others.map(({ arm, percentile }) => `${arm} ${percentile}`)]);
  }
  assert.deepEqual(outside, [
    [12, 'combined-untuned 99', 'deadline-untuned 99', 'static-4.0 99.9', 'static-3.3 99'],
    [4, 'combined-untuned 99.9', 'combined-untuned 99'],
    [4, 'combined-untuned 99', 'deadline-untuned 99'],
    [6, 'deadline-untuned 99'],
    [8],
  ]);
});
