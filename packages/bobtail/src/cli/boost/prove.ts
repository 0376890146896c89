/**
 * `bobtail boost --prove`: the service with the boost against the service as it is, in turns.
 *
 * As it is: without a lever, since who holds one at base may run slower than who leaves the speed
 * to the kernel. Only an imitated frequency is imitated there, too, at its base.
 *
 * It ends with a verdict and runs nothing on: whoever asks wants to know whether to boost at all.
 */
import type { DriveOptions } from '../../agent/boost/settings';
import { type DrivenArm, drivenArm, runDrivenRound, undrivenArm } from '../../prove/driven-round';
import type { Progress } from '../../prove/experiment';
import { type Proof, prove } from '../../prove/prove';
import type { Subject } from '../../prove/round';
import { percentilesNs, type Sample } from '../../prove/sample';
import { seededRandom } from '../../prove/shuffle';
import { canonicalPolicy } from '../analysis';
import { colorsFor, StatusLine, widthOf, writeAnswer } from '../console';
import { EXIT_CODES, type ExitName } from '../exit-codes';
import { Failure } from '../failure';
import type { BoostComparison, BoostedRound, BoostProof } from '../json/boost-proof';
import type { Outcome } from '../json/run';
import { checkAgent } from '../record/agent-environment';
import { checkNodeVersion, nodeVersionOf } from '../record/command';
import { exitLike } from '../record/signals';
import { formatDuration } from '../text/units';
import { untilSignalled } from '../until-signalled';
import { putBackLeftovers } from './leftovers';
import { findLever, type LeverWish } from './lever';
import { endOwnFolder, makeOwnFolder } from './own-folder';
import type { AskRaised } from './raised';
import { renderProof } from './render-proof';

/** What the user asked for. */
export interface ProveRequest {
  readonly subject: Subject;
  readonly drive: DriveOptions;
  readonly lever: LeverWish;
  readonly rounds: number;
  readonly seed: number;
  readonly format: 'text' | 'json';
  readonly quiet: boolean;
}

const IMITATED_BASE = 'static:base';
/** What is told as the policy of an arm that has none. */
const NO_POLICY = 'none';
const LISTEN_MS_MAX = 60_000;
const RUN_MS_MAX = 600_000;
const NS_PER_MS = 1e6;
const EXITS: Readonly<Record<Proof['verdict'], ExitName>> = {
  helped: 'ok',
  'did-not-help': 'didNotHelp',
  'not-enough-samples': 'notProved',
};

/** Proves, prints, and chooses the exit code. Rejects with a `Failure`. */
export async function proveBoost(request: ProveRequest): Promise<void> {
  const { subject, drive } = request;
  const policy = canonicalPolicy(drive.policy);
  await checkService(subject);
  await putBackLeftovers(request.quiet);
  const folder = makeOwnFolder('prove');
  let outcome: Outcome;
  let isAllBack = true;
  try {
    const lever = await findLever(request.lever, { ...drive, policy }, folder);
    if ('refused' in lever) {
      throw new Failure('notBoosted', `nothing to prove: ${lever.refused}`);
    }
    try {
      const raised = async () => (await lever.keeper?.raised()) ?? [];
      outcome = await proveWith({ ...request, drive: lever.drive }, raised);
    } finally {
      await lever.keeper?.end();
    }
  } finally {
    isAllBack = await endOwnFolder(folder);
  }
  const isHidden = isAllBack || outcome.signal !== null;
  exitLike(isHidden ? outcome : { ...outcome, exitCode: EXIT_CODES.leftRaised });
}

/** How this process is to end. */
async function proveWith(request: ProveRequest, raised: AskRaised): Promise<Outcome> {
  const { subject, drive, rounds, seed, format, quiet } = request;
  const { policy } = drive;
  const boosted = drivenArm('boosted', { ...drive, policy }, raised);
  const unchanged = (name: string): DrivenArm =>
    isEmulated(drive) ? drivenArm(name, { ...drive, policy: IMITATED_BASE }) : undrivenArm(name);
  const base = [unchanged('unchanged'), unchanged('A/A')] as const;
  const status = new StatusLine(quiet);
  const startMs = performance.now();
  const { result, signal } = await untilSignalled((ending) =>
    prove(boosted, {
      subject,
      rounds,
      random: seededRandom(seed),
      limits: { listenMs: LISTEN_MS_MAX, runMs: RUN_MS_MAX, signal: ending },
      run: runDrivenRound,
      unchanged: base,
      progress: (at) => status.show(`bobtail: ${progressOf(at, startMs)}`),
    }),
  );
  status.clear();
  const answer = answerOf(result, [base[0], boosted, base[1]], request);
  const look = { colors: colorsFor(process.stdout), width: widthOf(process.stdout) };
  await writeAnswer(
    format === 'json' ? JSON.stringify(answer, null, 2) : renderProof(answer, look),
  );
  if (signal !== undefined) return { exitCode: null, signal };
  return { exitCode: EXIT_CODES[exitOf(result)], signal: null };
}

/** A service that does not run and a lever that is not there are no matter of the boost. */
function exitOf({ isLoadAtFault, verdict, records }: Proof): ExitName {
  if (isLoadAtFault) return 'loadFailed';
  const out = records.find((one) => one.out !== undefined);
  if (out?.out?.of === 'change') return 'notBoosted';
  if (out?.out?.of === 'service' && out !== records[1]) return 'unsupported';
  if (out?.out?.of === 'requests' && out !== records[1]) return 'nothingRecorded';
  return EXITS[verdict];
}

function isEmulated({ actuator }: DriveOptions): boolean {
  return actuator === 'emulated';
}

async function checkService({ command }: Subject): Promise<void> {
  checkAgent();
  const node = await nodeVersionOf(command);
  if (node !== undefined) checkNodeVersion(node);
}

function progressOf({ round, rounds, arm }: Progress, startMs: number): string {
  const elapsed = formatDuration((performance.now() - startMs) * NS_PER_MS);
  return `proof: round ${round} of ${rounds} · ${arm} · ${elapsed}`;
}

/** The answer, of the arms in the order of the proof. */
export function answerOf(
  proof: Proof,
  arms: readonly DrivenArm[],
  { subject, drive, seed }: Pick<ProveRequest, 'subject' | 'drive' | 'seed'>,
): BoostProof {
  const { verdict, reason, percentile, rounds, interrupted, effect, control, records } = proof;
  return {
    schema: 'bobtail-boost-proof/1',
    command: subject.command,
    onPort: subject.onPort,
    policy: arms[1]?.drive?.policy ?? drive.policy,
    actuator: drive.actuator,
    isEmulated: isEmulated(drive),
    seed,
    interrupted,
    verdict,
    reason,
    percentile,
    rounds,
    effect: comparisonOf(effect),
    control: comparisonOf(control),
    energyRelative: meanEnergy(records[1]?.samples ?? []),
    arms: records.map(({ arm, out, failedRounds, samples }, index) => ({
      name: arm.name,
      policy: arms[index]?.drive?.policy ?? NO_POLICY,
      out: out ?? null,
      failedRounds: failedRounds.length,
      rounds: samples.map(roundOf),
    })),
  };
}

function comparisonOf(comparison: Proof['effect']): BoostComparison | null {
  if (comparison === null) return null;
  const { percentiles, requestsPerS } = comparison;
  return { percentiles, requestsPerS };
}

function meanEnergy(samples: readonly Sample[]): number | null {
  const told = samples.map((one) => one.boost?.energyRelative ?? null);
  const known = told.filter((one) => one !== null);
  if (known.length === 0 || known.length < told.length) return null;
  return known.reduce((sum, one) => sum + one, 0) / known.length;
}

function roundOf({ latencies, requests, requestsPerS, boost }: Sample): BoostedRound {
  return {
    requests,
    percentilesNs: percentilesNs(latencies, requests),
    requestsPerS,
    boosts: boost?.boosts ?? 0,
    boostedShare: boost?.boostedShare ?? 0,
    energyRelative: boost?.energyRelative ?? null,
  };
}
