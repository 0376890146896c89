/**
 * What a policy and the peak take of a percentile, live: beside the base by turns, until it is
 * known.
 *
 * Not the whole of one after the whole of the other: a host that others use, too, is fast and slow
 * for a second or a tenth of one (who has the core's other thread makes collections a half longer),
 * and one service was further from itself than a policy from a wrong prediction. So a turn is no
 * longer than the request that is told, and what is told is the median over rounds of turns.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { medianInterval } from '../../../../bench/harness/statistics.mjs';
import { onDuty } from '../../../../bench/harness/turns.mjs';
import { latenciesOf, readLatencies, since } from '../../dist/cli/boost/latencies.js';
import { percentileNs } from '../../dist/prove/sample.js';
import { startBoosted } from './boosted.mjs';
import { get } from './load.mjs';

const BASE = 'static:base';
const PEAK = 'static:peak';
/** Of so many requests one is long, in the middle: of all, the 95th percentile is one of those. */
const GROUP = 10;
/** Into a turn: until then the speed of the one before is over, and what it answered is counted. */
const BEGUN_MS = 10;
/** Of turns on one service, and of services. */
const ROUNDS = { inTurns: { least: 20, most: 400 }, ofServices: { least: 6, most: 20 } };

/** Requests one at a time: groups of which one is long, or single ones if none is to be. */
export class Asking {
  #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

  constructor(t, port, long) {
    t.after(() => this.#agent.destroy());
    this.port = port;
    const mixed = Array.from({ length: GROUP }, (_, n) => (n === GROUP / 2 ? long : '/short'));
    this.paths = long === undefined ? ['/'] : mixed;
  }

  async group() {
    for (const path of this.paths) await get(this.port, path, this.#agent);
  }

  async count(requests) {
    for (let n = 0; n < requests; n += this.paths.length) await this.group();
  }
}

/** By the clock that says whose turn it is. */
function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

async function untilMs(ms) {
  await sleep(Math.max(0, ms - nowMs()));
}

function boosted(t, command, policy) {
  return startBoosted(t, { ...command, args: ['--actuator', 'emulated', '--policy', policy] });
}

/** Rounds on one service, each with a group in a turn of each: their percentiles in nanoseconds. */
async function* roundsInTurns(t, command, policies, { at, long, eachMs, learns }) {
  const service = await boosted(t, command, `in-turns:each=${eachMs}ms,of=${policies.join('+')}`);
  const folder = service.folder();
  const asking = new Asking(t, service.port, long);
  const count = policies.length;
  // Each learns in its own turns alone.
  await asking.count(learns * count);
  for (;;) {
    const first = count * (Math.floor(nowMs() / eachMs / count) + 1);
    const round = [];
    for (let turn = first; turn < first + count; turn += 1) {
      await untilMs(turn * eachMs + BEGUN_MS);
      const before = readLatencies(folder);
      await asking.group();
      const isInTime = nowMs() < (turn + 1) * eachMs;
      await untilMs((turn + 1) * eachMs + BEGUN_MS);
      const answered = since(before, readLatencies(folder));
      if (isInTime) round[onDuty(turn, count)] = percentileNs(latenciesOf(answered), at);
    }
    if (Object.keys(round).length === count) yield round;
  }
}

/** The same of services one after the other, for what cannot be in turns. */
async function* roundsOfServices(t, command, policies, { at, long, learns }) {
  for (;;) {
    const round = [];
    for (const policy of policies) {
      const service = await boosted(t, command, policy);
      await new Asking(t, service.port, long).count(learns);
      round.push(percentileNs(latenciesOf(readLatencies(service.folder())), at));
      service.child.kill('SIGTERM');
      await service.ended;
    }
    yield round;
  }
}

/** What the policy of a round takes, and the peak, if it had a turn. */
function tookIn([baseNs, ...shorterNs]) {
  const [own, peak = null] = shorterNs.map((ns) => 1 - ns / baseNs);
  return { own, peak };
}

/** What the base takes of itself: each second round of the one before. */
function apartIn(rounds) {
  const pairs = rounds.flatMap(([base], index) =>
    index % 2 ? [[rounds[index - 1][0], base]] : [],
  );
  return medianInterval(pairs.map((pair) => tookIn(pair).own)).median;
}

/**
 * How much of the percentile `at` a policy takes, live, beside the base, and the peak, where that
 * is not the policy: `{own, peak}`; what the base takes of itself, `apart`; and what `off` makes of
 * the former. Each is the median of rounds, the last with its 95 % interval; as soon as
 * `isTold(interval, apart)`. Throws where many rounds do not tell it.
 *
 * `eachMs` is how long a turn is; without one, each round has services of its own.
 */
export async function beside(t, command, { policy, off, isTold, ...asked }) {
  const isInTurns = asked.eachMs !== undefined;
  const policies = [BASE, policy, ...(isInTurns && policy !== PEAK ? [PEAK] : [])];
  const { least, most } = isInTurns ? ROUNDS.inTurns : ROUNDS.ofServices;
  const from = isInTurns ? roundsInTurns : roundsOfServices;
  const rounds = [];
  for await (const round of from(t, command, policies, asked)) {
    rounds.push(round);
    if (rounds.length < least) continue;
    const taken = rounds.map(tookIn);
    const median = (what) => medianInterval(taken.map((one) => one[what])).median;
    const interval = medianInterval(taken.map(off));
    const apart = apartIn(rounds);
    const found = { own: median('own'), peak: policies.length > 2 ? median('peak') : null };
    const told = { ...found, off: interval, apart, rounds: rounds.length };
    if (isTold(interval, apart)) return told;
    assert.ok(rounds.length < most, `not told after many rounds: ${JSON.stringify(told)}`);
  }
}
