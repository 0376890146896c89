/**
 * What a policy and the peak take of a percentile, live: beside the base by turns, until it is
 * known.
 *
 * Not the whole of one after the whole of the other: a host that others use, too, is fast and slow
 * for a second or a tenth of one (who has the core's other thread makes collections a half longer),
 * and one service was further from itself than a policy from a wrong prediction. So in a turn there
 * is one of the requests that are told, and what is told is the median over rounds of turns.
 */
import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { medianInterval, quantile } from '../../../../bench/harness/statistics.mjs';
import { nowMs, onDuty } from '../../../../bench/harness/turns.mjs';
import { readDriverFiles } from '../../dist/cli/boost/driver-file.js';
import { latenciesOf, readLatencies, since } from '../../dist/cli/boost/latencies.js';
import { percentileNs } from '../../dist/prove/sample.js';
import { startBoosted } from './boosted.mjs';
import { get } from './load.mjs';

const BASE = 'static:base';
const PEAK = 'static:peak';
/** Of so many requests one is long, in the middle: of all, the 95th percentile is one of those. */
const GROUP = 10;
/**
 * Into a turn: by then its speed is there (a driver whose loop sleeps looks after 10 ms,
 * `crates/policy/src/looks.rs`), and what the turn before answered is counted.
 */
const BEGUN_MS = 15;
/** Woken later than that, a round is left for the next. */
const LATE_MS = 5;
/** How long a group may take at the base, of what it took without an imitated frequency. */
const SLOWER = 1.9;
/** And what a host may take from it meanwhile: of turns of 30 ms nearly half were late at times. */
const SPARE_MS = 15;
const STARTS = 4;
/** A look at what is known, after so many rounds, and after twice as many; `most` is the last. */
const IN_TURNS = { rounds: roundsInTurns, least: 20, most: 320 };
const APART = { rounds: roundsOfServices, least: 5, most: 10 };

/** Requests one at a time: groups of which one is long, or single ones if none is to be. */
export class Asking {
  #agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  #tookMs = [];

  constructor(t, port, long) {
    t.after(() => this.#agent.destroy());
    this.port = port;
    const mixed = Array.from({ length: GROUP }, (_, n) => (n === GROUP / 2 ? long : '/short'));
    this.paths = long === undefined ? ['/'] : mixed;
  }

  async group() {
    const fromMs = nowMs();
    for (const path of this.paths) await get(this.port, path, this.#agent);
    this.#tookMs.push(nowMs() - fromMs);
  }

  async count(requests) {
    for (let n = 0; n < requests; n += this.paths.length) await this.group();
  }

  /** How long a turn must be that has one of these groups at the base. */
  turnMs() {
    const sorted = this.#tookMs.toSorted((a, b) => a - b);
    return Math.ceil(BEGUN_MS + SLOWER * quantile(sorted, 0.5) + SPARE_MS);
  }
}

async function untilMs(ms) {
  await sleep(Math.max(0, ms - nowMs()));
}

/** A boosted service; where the lever was refused, for it was too far off, another one. */
async function boosted(t, command, policy) {
  for (let starts = 1; ; starts += 1) {
    t.signal.throwIfAborted();
    const args = ['--actuator', 'emulated', '--policy', policy];
    const service = await startBoosted(t, { ...command, args });
    const refused = readDriverFiles(service.folder()).flatMap((one) => one.refused ?? []);
    if (refused.length === 0) return service;
    await end(service);
    assert.ok(starts < STARTS, refused.join('; '));
  }
}

async function end(service) {
  service.child.kill('SIGTERM');
  await service.ended;
}

/** The percentile of what was answered; undefined unless all of it is counted. */
function percentileOf(counted, requests, at) {
  return counted.count === requests ? percentileNs(latenciesOf(counted), at) : undefined;
}

/**
 * Rounds on one service, each with a group in a turn of each policy: their percentiles in
 * nanoseconds, of a turn that was not over in time undefined.
 */
async function* roundsInTurns(t, command, policies, { at, long, eachMs, learns }) {
  const service = await boosted(t, command, `in-turns:each=${eachMs}ms,of=${policies.join('+')}`);
  const folder = service.folder();
  const asking = new Asking(t, service.port, long);
  const count = policies.length;
  // Each learns in its own turns alone.
  await asking.count(learns * count);
  for (;;) {
    t.signal.throwIfAborted();
    // The one that begins now or next: a round ends where the next one begins.
    const round = Math.ceil((nowMs() - BEGUN_MS - LATE_MS) / eachMs / count);
    await untilMs(round * count * eachMs + BEGUN_MS);
    const percentilesNs = Array(count).fill();
    let before = readLatencies(folder);
    for (let turn = round * count; turn < (round + 1) * count; turn += 1) {
      await asking.group();
      const isInTime = nowMs() < (turn + 1) * eachMs;
      await untilMs((turn + 1) * eachMs + BEGUN_MS);
      const after = readLatencies(folder);
      const ns = percentileOf(since(before, after), asking.paths.length, at);
      if (isInTime) percentilesNs[onDuty(turn, count)] = ns;
      before = after;
    }
    yield percentilesNs;
  }
}

/** The same of services one after the other, for what cannot be in turns. */
async function* roundsOfServices(t, command, policies, { at, long, learns }) {
  for (;;) {
    const percentilesNs = [];
    for (const policy of policies) {
      const service = await boosted(t, command, policy);
      await new Asking(t, service.port, long).count(learns);
      percentilesNs.push(percentileOf(readLatencies(service.folder()), learns, at));
      await end(service);
    }
    yield percentilesNs;
  }
}

/** What a round's policy takes, and the peak, if it has a turn; and the base from itself. */
function tookIn([base, own, ...others]) {
  const again = others.at(-1);
  const took = (ns) => 1 - (2 * ns) / (base + again);
  return {
    own: took(own),
    peak: others.length > 1 ? took(others[0]) : null,
    apart: 1 - again / base,
  };
}

/**
 * How much of the percentile `at` a policy takes, live, beside the base, `own`, and how much the
 * peak, `peak`, if it is not the policy and there are turns; and the base from itself, `apart`.
 * Each is the median of rounds with its 95 % interval, as soon as `isTold` of them and of whether
 * they are the last there will be; beside them how many `rounds` there were of those `begun`.
 *
 * `eachMs` is how long a turn is; without one, each round has services of its own.
 */
export async function beside(t, command, { policy, isTold, ...asked }) {
  const { rounds, least, most } = asked.eachMs === undefined ? APART : IN_TURNS;
  const isBesidePeak = rounds === roundsInTurns && policy !== PEAK;
  const policies = [BASE, policy, ...(isBesidePeak ? [PEAK] : []), BASE];
  const taken = [];
  let begun = 0;
  let look = least;
  for await (const percentilesNs of rounds(t, command, policies, asked)) {
    begun += 1;
    if (percentilesNs.every(Boolean)) taken.push(tookIn(percentilesNs));
    if (begun < look) continue;
    look = Math.min(2 * look, most);
    const counted = { rounds: taken.length, begun };
    assert.ok(2 * taken.length > begun, `most rounds were late: ${JSON.stringify(counted)}`);
    const median = (what) => medianInterval(taken.map((one) => one[what]));
    const [own, apart] = [median('own'), median('apart')];
    const told = { own, peak: isBesidePeak ? median('peak') : null, apart, ...counted };
    if (isTold(told, begun === most)) return told;
  }
}
