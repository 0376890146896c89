// One round of a service: a fresh, seeded server for each arm, all there at once, and each under
// load for two seconds at a time, in an order of its own each time, as often as is wanted. Or one
// server for all arms, which has their policies in turns (`one-service.mjs`).
//
// On a shared host the core is slower by half and is taken away in phases of seconds to minutes.
// Arm after arm for half a minute each, the same arm twice was up to 97 % apart at p99.9. In turns
// of seconds all arms have the same phases. Who is not asked costs next to nothing. A turn waits
// for cores that are fast, and who has had slow ones has some more.
import { seededRandom, shuffled } from '../../packages/bobtail/dist/prove/shuffle.js';
import { stolenSince } from '../harness/cpu.mjs';
import { openLoop } from '../harness/open-loop.mjs';
import { windowsAround, within } from '../harness/stalls.mjs';
import { quartiles } from '../harness/statistics.mjs';
import { BASE, BASE_POLICY, environmentOf, flagsOf } from './arms.mjs';
import { AtService, histogramOf } from './at-service.mjs';
import { LEARNT_MS, OneService } from './one-service.mjs';
import { databasesNow, OVERDUE_MS, threadsNow } from './overdue.mjs';
import { RecordedService } from './recorded-service.mjs';
import { BoostedService } from './service.mjs';
import { SharedLever } from './shared-lever.mjs';
import { Tally } from './tally.mjs';
import { requests, settle, warm } from './warm.mjs';

/** Of a turn that counts, after a beginning that does not: caches are cold by then. */
const TURN_MS = 2000;
const BEGIN_MS = 200;
/** Of the requests that are sent: where fewer count a round is begun anew. */
const COUNTING_MIN = 0.2;
/**
 * So many times the turns that it takes where nothing disturbs, until enough requests count, and
 * how many more where those that do are less than half.
 */
const TURNS_MAX = { usual: 1.5, atAll: 3 };
/** Of the rate of all, that of who is recorded, until both have had a turn. */
const PACE_AT_FIRST = 0.85;
/** Of what a driver counts. */
const OF_LOOKS = ['looks', 'lookingNs'];
const COUNTED = ['boosts', ...OF_LOOKS];

/** One arm of a round: its service, warmed up, and what came so far. */
class Contender {
  tally = new Tally();
  /** What its threads did whenever nobody was answered for long. */
  overdue = [];
  /** Of the rate of all. */
  pace = 1;

  static async start(arm, { tuned, seed, lever, stalls, recordingOf, ...context }) {
    const flags = flagsOf(arm, tuned);
    const policy = arm.isHeld ? BASE_POLICY : arm.policy;
    const environment = { ...context.environment, ...environmentOf(arm) };
    const how = { ...context, environment, flags, seed };
    const service = await (arm.recordedKind === undefined
      ? BoostedService.start({ ...how, policy, drive: lever.drive })
      : RecordedService.start({ ...how, folder: recordingOf(arm.recordedKind) }));
    const contender = Object.assign(new Contender(), { arm, service, lever, stalls, flags });
    if (contender.isRecorded) contender.pace = PACE_AT_FIRST;
    try {
      await contender.#warmUp(context.ratePerS, seed);
      return contender;
    } catch (error) {
      await service.stop();
      throw error;
    }
  }

  /** Of arms that have turns on one service, in their order; who is recorded has his own. */
  static async startTogether(arms, context) {
    const alone = new Map();
    let shared = null;
    try {
      for (const arm of arms.filter(({ recordedKind }) => recordedKind !== undefined)) {
        alone.set(arm, await Contender.start(arm, context));
      }
      shared = await OneService.start(arms, context);
      const { service } = shared;
      const { ratePerS, seed } = context;
      for (const one of alone.values()) await one.settle(ratePerS, seed, LEARNT_MS);
      // It has been idle meanwhile.
      if (alone.size > 0) await settle(service.connections, ratePerS, seed);
      return arms.map((arm, place) => {
        const own = alone.get(arm) ?? Contender.#on(service, arm, context);
        return Object.assign(own, { shared, place });
      });
    } catch (error) {
      const started = [...alone.values(), ...(shared === null ? [] : [shared])];
      await Promise.allSettled(started.map(({ service }) => service.stop()));
      throw error;
    }
  }

  static #on(service, arm, { tuned, lever, stalls }) {
    const own = { arm, service, lever, stalls, flags: flagsOf(arm, tuned) };
    return Object.assign(new Contender(), own);
  }

  async #warmUp(ratePerS, seed) {
    await warm(this.service.connections);
    await this.settle(ratePerS, seed);
  }

  /** The load as it will be, of which nothing counts. */
  settle(ratePerS, seed, durationMs) {
    return settle(this.service.connections, this.pace * ratePerS, seed, durationMs);
  }

  get isRecorded() {
    return this.arm.recordedKind !== undefined;
  }

  /** What a request takes of the loop while the core is fast, where it ever was. */
  get typicalNs() {
    const { fast } = this.tally;
    if (fast.length > 0) return quartiles(fast.map(({ perRequestNs }) => perRequestNs)).median;
    return quartiles(this.tally.each('perRequestNs')).low;
  }

  /** What its drivers did until now does not count. */
  async begin() {
    this.before = await this.service.driven();
  }

  /** Its turn; `others` are measured meanwhile. */
  async turn({ ratePerS, seed }, others) {
    const isHeld = this.arm.isHeld && this.shared === undefined;
    const held = isHeld ? await this.lever.hold(this.arm.policy) : null;
    await this.shared?.untilTurnOf(this.place);
    const before = this.#figures(others);
    const stolen = stolenSince();
    const wasRaised = await this.lever.raised();
    await this.stalls.taken();
    const beganMs = performance.now();
    const fromMs = beganMs + BEGIN_MS;
    const random = seededRandom(seed);
    const watch = { overdueMs: OVERDUE_MS, onOverdue: (ms) => this.#lookAtOverdue(ms) };
    const durationMs = BEGIN_MS + TURN_MS;
    // Who is recorded counts nothing: his recording has it.
    const atService = this.isRecorded ? null : new AtService(this.service.folder);
    const load = { requests, ratePerS: this.pace * ratePerS, durationMs, random, ...watch };
    const answered = await openLoop(this.service.connections, load);
    const { latenciesMs, dueMs, failed, unanswered } = answered;
    const slices = atService?.end() ?? [];
    const after = this.#figures(others);
    const untilMs = performance.now();
    const spent = Object.entries(after).map(([name, ns]) => [name, ns - before[name]]);
    const { wallNs, ...ofCpu } = Object.fromEntries(spent);
    const stolenNs = stolen() * wallNs;
    const stalls = [...(await this.stalls.taken()), ...answered.stalls];
    const raised = await this.lever.raised();
    await held?.stop();
    const disturbed = [...windowsAround(stalls), ...this.stalls.pace.slowWindows(beganMs, untilMs)];
    const isDisturbed = within(disturbed);
    const counting = dueMs.flatMap((due, index) => (due >= fromMs ? [index] : []));
    const undisturbed = counting.filter((index) => !isDisturbed(dueMs[index]));
    this.tally.add({
      latenciesMs: undisturbed.map((index) => latenciesMs[index]),
      leftOut: counting.length - undisturbed.length,
      atService: histogramOf(slices, { fromMs, disturbed }),
      span: { fromMs: beganMs, untilMs },
      counting: { fromMs, untilMs: beganMs + durationMs },
      slowness: this.stalls.pace.slowness(beganMs, untilMs),
      disturbed,
      ...{ sent: latenciesMs.length, failed, unanswered, stalls: stalls.length },
      ...{ stolenNs, wallNs, ...ofCpu },
      raisedNs: raised.raisedNs - wasRaised.raisedNs,
      hadNs: raised.ofNs - wasRaised.ofNs,
    });
  }

  #lookAtOverdue(overdueMs) {
    const threads = threadsNow(this.service.running.child.pid);
    const turn = this.tally.each('sent').length;
    const looked = { threads, databases: databasesNow() };
    this.overdue.push({ turn, atMs: performance.now(), overdueMs, ...looked });
  }

  #figures(others) {
    return {
      wallNs: performance.now() * 1e6,
      loopNs: this.service.loopNs(),
      cpuNs: this.service.cpuNs(),
      othersNs: others.reduce((sum, { service }) => sum + service.cpuNs(), 0),
    };
  }

  /** Ends one that is recorded, and keeps its recording with the turns that count here. */
  async keepRecording() {
    const { tally, stalls } = this;
    const { fast } = tally;
    await this.service.keep({
      turns: tally.each('span'),
      counting: fast.map(({ counting }) => counting),
      disturbed: fast.flatMap(({ disturbed }) => disturbed),
      monotonicNs: (ms) => stalls.monotonicNs(ms),
    });
  }

  /** What is kept of it. */
  async cell() {
    const { arm, tally, flags } = this;
    const wallNs = tally.sum('wallNs');
    const isShared = this.shared !== undefined && !this.isRecorded;
    const after = await this.service.driven();
    // Of its turns: what the lever did, whichever of its processes wanted it.
    const share = tally.sum('raisedNs') / tally.sum('hadNs');
    const { histogram, fastTurns, ofAllTurns, atService } = tally.latencies();
    const counted = ['failed', 'unanswered', 'leftOut', 'stalls'];
    const counts = counted.map((name) => [name, tally.sum(name)]);
    const perRequestNs = tally.each('perRequestNs').map(Math.round);
    const slowness = tally.each('slowness').map((cpus) => cpus.map(rounded));
    return {
      ...{ arm: arm.name, policy: arm.policy, flags, turns: perRequestNs.length, fastTurns },
      ...(this.isRecorded ? { pace: this.pace } : {}),
      ...{ perRequestNs, slowness, slowestMs: tally.each('slowestMs'), overdue: this.overdue },
      ...{ requests: histogram.count, ...Object.fromEntries(counts) },
      loopShare: tally.sum('loopNs') / wallNs,
      cpuShare: tally.sum('cpuNs') / wallNs,
      othersCpuShare: tally.sum('othersNs') / wallNs,
      stolenShare: tally.sum('stolenNs') / wallNs,
      // Of a service that arms share nobody knows in whose turn a boost was; a look costs the same.
      ...sinceThen(after.counters, this.before.counters, isShared ? OF_LOOKS : COUNTED),
      ...(isShared ? { byTurn: tally.byTurn() } : {}),
      boostedShare: share,
      ranNs: wallNs,
      energy: { kind: 'modelled', relativeToBase: 1 + premium(after) * share },
      latencies: histogram.toText(),
      latenciesOfAllTurns: ofAllTurns.toText(),
      ...(this.isRecorded ? {} : { latenciesAtService: atService.toText() }),
    };
  }
}

function rounded(slowness) {
  return slowness === null ? null : Number(slowness.toFixed(3));
}

function sinceThen(now, then, names) {
  return Object.fromEntries(names.map((name) => [name, now[name] - then[name]]));
}

/** What a boost costs more than the base, by the paper's points. */
function premium({ boostedShare: share, energy }) {
  return share > 0 ? (energy.relativeToBase - 1) / share : 0;
}

/**
 * At which pace who is recorded is as busy as if he were not, from the next turn on: the base's
 * cost of a request, by that of the base recorded. Other flags have another, recorded or not.
 */
function paceOf(contenders) {
  const { typicalNs } = contenders.find(({ arm: { name } }) => name === BASE);
  const plain = contenders.find(({ arm: { recordedKind } }) => recordedKind === 'plain');
  return typicalNs / plain.typicalNs;
}

function servicesOf(contenders) {
  return [...new Set(contenders.map(({ service }) => service))];
}

/** Who has the next turn: on one service it follows from the clock. */
function nextOf(order) {
  const [{ shared }] = order;
  if (shared === undefined) return order[0];
  const place = shared.next(order.map((one) => one.place));
  return order.find((one) => one.place === place);
}

/** Cells of all arms, each asked `sent` times; whether enough count of each. */
export async function takeRound(round) {
  const { arms, latency, sent, seed, ratePerS, isOneService, ...context } = round;
  const lever = await SharedLever.start(latency);
  const contenders = [];
  try {
    const how = { ...context, seed, ratePerS, lever };
    if (isOneService) contenders.push(...(await Contender.startTogether(arms, how)));
    else for (const arm of arms) contenders.push(await Contender.start(arm, how));
    // Who was there first has been idle while the others started. A first turn after that had
    // scavenges twice as long where it was recorded, and was half of p99 of a round.
    if (!isOneService) for (const one of contenders) await one.settle(ratePerS, seed);
    // At once, here and at the end: each waits until its drivers have told what they did.
    await Promise.all(contenders.map((one) => one.begin()));
    const recorded = contenders.filter((one) => one.isRecorded);
    const wanted = Math.ceil(sent / (ratePerS * (TURN_MS / 1000)));
    for (let turn = 0; turn < TURNS_MAX.atAll * wanted; turn += 1) {
      const enough = turn < TURNS_MAX.usual * wanted ? sent : sent / 2;
      const lacking = contenders.filter(({ tally }) => tally.requests < enough);
      if (lacking.length === 0) break;
      // The same arrivals for all, and another order each time.
      const load = { ratePerS, seed: seed + turn };
      const order = shuffled(lacking, seededRandom(seed * 97 + turn));
      while (order.length > 0) {
        await context.stalls.pace.untilCalm();
        const one = nextOf(order);
        order.splice(order.indexOf(one), 1);
        await one.turn(
          load,
          contenders.filter(({ service }) => service !== one.service),
        );
      }
      for (const one of recorded) one.pace = paceOf(contenders);
    }
    const cells = await Promise.all(
      contenders.map(async (one) => ({ seed, ratePerS, latency, ...(await one.cell()) })),
    );
    const isWhole = contenders.every((one) => one.tally.requests >= COUNTING_MIN * sent);
    if (isWhole) for (const one of recorded) await one.keepRecording();
    return { cells, isWhole };
  } finally {
    await Promise.allSettled(servicesOf(contenders).map((service) => service.stop()));
    await lever.stop();
  }
}
