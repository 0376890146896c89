/**
 * One run of one arm that is boosted: a fresh service, one load command, what its driver did.
 *
 * Not under the recorder, which a boost does not share a loop with: latencies come from what the
 * driver senses, the same way in every arm.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { DriveOptions } from '../agent/boost/settings';
import { readDriverFiles, refusals } from '../cli/boost/driver-file';
import { boostEnv, tellingListening } from '../cli/boost/environment';
import { type Counted, latenciesOf, readLatencies, since } from '../cli/boost/latencies';
import { otherUser } from '../cli/boost/other-user';
import { type AskRaised, type Raised, raisedSince } from '../cli/boost/raised';
import { LOST_SHARE_MAX, NOTHING_SEEN, summarize } from '../cli/boost/summary';
import { firstListening } from '../cli/record/first-listening';
import { LoadCommand } from '../cli/record/load-command';
import type { ProcessGroup } from '../cli/record/process-group';
import { startService } from '../cli/record/session';
import type { Arm } from './arm';
import { readUsage } from './resources';
import {
  didNotListen,
  lost,
  lostService,
  lostToWarmup,
  type Moment,
  NS_PER_MS,
  type RoundLimits,
  type RoundResult,
  type Subject,
  spent,
  wasNotDone,
} from './round';
import { RoundFolder } from './round-folder';
import type { Boosted, Sample } from './sample';

/** An arm with a policy at a lever, or with neither. */
export interface DrivenArm extends Arm {
  readonly drive: DriveOptions | null;
  readonly raised: AskRaised;
}

const NOBODY_SAYS: AskRaised = () => Promise.resolve([]);

const POLL_MS = 50;

/** An arm under a policy; what starts the service stays as it is. */
export function drivenArm(name: string, drive: DriveOptions, raised = NOBODY_SAYS): DrivenArm {
  return { name, drive, raised, start: (service) => service };
}

/** The service as it is: no lever is touched, nobody decides, only latencies are counted. */
export function undrivenArm(name: string): DrivenArm {
  return { name, drive: null, raised: NOBODY_SAYS, start: (service) => service };
}

/** Runs `arm` once. Rejects with a `Failure` when the command cannot be started. */
export function runDrivenRound(
  subject: Subject,
  arm: Arm,
  limits: RoundLimits,
): Promise<RoundResult> {
  return RoundFolder.during((folder) =>
    new DrivenRun(subject, arm as DrivenArm, limits, folder).result(),
  );
}

/** A moment, and the latencies that the driver had counted by then. */
interface CountedMoment extends Moment {
  readonly counted: Counted;
}

/** A run under way. */
class DrivenRun {
  readonly #subject: Subject;
  readonly #arm: DrivenArm;
  readonly #limits: RoundLimits;
  readonly #folder: RoundFolder;

  constructor(subject: Subject, arm: DrivenArm, limits: RoundLimits, folder: RoundFolder) {
    this.#subject = subject;
    this.#arm = arm;
    this.#limits = limits;
    this.#folder = folder;
  }

  async result(): Promise<RoundResult> {
    const { signal } = this.#limits;
    if (signal.aborted) return { kind: 'interrupted' };
    const { command } = this.#subject;
    const before = await this.#arm.raised();
    const started = this.#arm.start({ command, env: process.env });
    const env = tellingListening(boostEnv(this.#folder.told, this.#arm.drive, started.env));
    const service = await startService(started.command, env, this.#folder.output('service'));
    const kill = (): void => service.signalAll('SIGKILL');
    process.once('exit', kill);
    try {
      const result = await this.#measure(service);
      if (signal.aborted) return { kind: 'interrupted' };
      // The driver tells once a second, and at last when the service ends.
      await service.stop();
      if (result.kind !== 'measured') return result;
      const loss = this.#loss();
      if (loss !== undefined) return lost('change', loss);
      const raised = raisedSince(before, await this.#arm.raised());
      return { ...result, sample: { ...result.sample, boost: this.#boosted(raised) } };
    } finally {
      process.removeListener('exit', kill);
      await service.stop();
    }
  }

  async #measure(service: ProcessGroup): Promise<RoundResult> {
    const { listenMs, runMs } = this.#limits;
    const endMs = performance.now() + listenMs;
    const isOver = (): boolean => this.#isOver(service) || performance.now() >= endMs;
    const listening = await firstListening(this.#folder.told, isOver, service.ended);
    if (!service.running) return this.#ended(service);
    if (listening === undefined) {
      const silence = otherUser(service.pid);
      if (silence !== undefined) return lost('change', silence.why);
      return lost('service', didNotListen(listenMs, this.#folder.said('service')));
    }
    const [refusal] = refusals(readDriverFiles(this.#folder.told));
    if (refusal !== undefined) return lost('change', refusal.refused);
    const output = this.#folder.output('load');
    const load = await LoadCommand.start(this.#subject.onPort, listening, output);
    try {
      return await this.#underLoad(service, load, runMs);
    } finally {
      await load.stop();
    }
  }

  async #underLoad(service: ProcessGroup, load: LoadCommand, runMs: number): Promise<RoundResult> {
    const { warmupNs, durationNs } = this.#subject;
    let isLoadDone = false;
    void load.ended.then(() => {
      isLoadDone = true;
    });
    const isOver = (): boolean => isLoadDone || this.#isOver(service);
    await this.#until(isOver, warmupNs / NS_PER_MS);
    if (isOver() && warmupNs > 0) {
      // What ended it says more than that it was early.
      if (!service.running) return this.#ended(service);
      return this.#failureOf(load) ?? lostToWarmup();
    }
    const begin = this.#moment(service);
    const restMs = durationNs === undefined ? runMs : (durationNs - warmupNs) / NS_PER_MS;
    await this.#until(isOver, Math.min(restMs, runMs));
    const end = this.#moment(service);
    if (!service.running) return this.#ended(service);
    if (!isLoadDone && durationNs === undefined) return lost('time', wasNotDone(runMs));
    return this.#failureOf(load) ?? this.#sampleOf(begin, end);
  }

  #isOver(service: ProcessGroup): boolean {
    return !service.running || this.#limits.signal.aborted;
  }

  /** Of a load that has ended. */
  #failureOf(load: LoadCommand): RoundResult | undefined {
    const failure = load.failure();
    if (failure === undefined) return undefined;
    return lost('load', `${failure.message}${this.#folder.said('load')}`);
  }

  #sampleOf(begin: CountedMoment, end: CountedMoment): RoundResult {
    const counted = since(begin.counted, end.counted);
    const requests = counted.count;
    if (requests === 0) {
      const missing = readDriverFiles(this.#folder.told).flatMap((file) => file.missing);
      return lost('requests', ['no request was seen', ...missing].join('; '));
    }
    const sample: Sample = {
      ...spent(begin, end, requests),
      latencies: latenciesOf(counted),
      collections: [],
    };
    return { kind: 'measured', sample, execPath: undefined };
  }

  /** Why it was not boosted for a part of the time. */
  #loss(): string | undefined {
    const files = readDriverFiles(this.#folder.told).filter((file) => 'hold' in file);
    const lost = files.find(({ counters, ranNs }) => counters.lostNs > LOST_SHARE_MAX * ranNs);
    return lost?.hold.lost ?? undefined;
  }

  #boosted(raised: readonly Raised[]): Boosted {
    const { drive } = this.#arm;
    if (drive === null) return { boosts: 0, boostedShare: 0, energyRelative: null };
    const files = readDriverFiles(this.#folder.told);
    const { boostedShare, energy, counters } = summarize(drive, files, { ...NOTHING_SEEN, raised });
    return {
      boosts: counters?.boosts ?? 0,
      boostedShare: boostedShare ?? 0,
      energyRelative: energy?.kind === 'modelled' ? energy.relativeToBase : null,
    };
  }

  #moment(service: ProcessGroup): CountedMoment {
    const counted = readLatencies(this.#folder.told);
    return { ...readUsage(service.pid), atMs: performance.now(), counted };
  }

  async #until(isOver: () => boolean, withinMs: number): Promise<void> {
    const endMs = performance.now() + withinMs;
    while (!isOver() && performance.now() < endMs) {
      await sleep(Math.min(POLL_MS, Math.max(1, endMs - performance.now())));
    }
  }

  async #ended(service: ProcessGroup): Promise<RoundResult> {
    return lostService(await service.ended, this.#folder);
  }
}
