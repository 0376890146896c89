/**
 * `bobtail boost`: runs a command with a policy at its lever, without recording it.
 *
 * The service comes first, as for `record`: it gets its own stdio, signals and exit code, and what
 * cannot be boosted runs unboosted, with the reason in one line.
 */
import type { DriveOptions } from '../../agent/boost/settings';
import { canonicalPolicy } from '../analysis';
import { StatusLine, tell } from '../console';
import { EXIT_CODES, type ExitName } from '../exit-codes';
import { Failure, oneLine, reasonOf } from '../failure';
import type { Outcome } from '../json/run';
import { checkAgent } from '../record/agent-environment';
import { checkNodeVersion, nodeVersionOf } from '../record/command';
import type { ProcessGroup } from '../record/process-group';
import { startService } from '../record/session';
import { exitLike, holdSignals } from '../record/signals';
import { formatDuration } from '../text/units';
import { boostEnv } from './environment';
import { putBackLeftovers } from './leftovers';
import { findLever, type Lever, type LeverWish } from './lever';
import { type Live, LiveBoost, type Watched } from './live';
import { type Listeners, startTelling } from './metrics/telling';
import { otherUser } from './other-user';
import { endOwnFolder, makeOwnFolder } from './own-folder';
import { type BoostSummary, renderRequests, renderSummary } from './summary';
import { requireWritable, writeSummary } from './summary-file';
import { Troubles } from './troubles';

/** What the user asked for. */
export interface BoostOptions {
  readonly command: readonly string[];
  readonly drive: DriveOptions;
  readonly lever: LeverWish;
  /** Where the summary goes as JSON, too. */
  readonly out?: string;
  readonly listeners: Listeners;
  /** Of Bobtail. */
  readonly version: string;
  readonly quiet: boolean;
}

const NS_PER_MS = 1e6;
/** How long workers may take to end after their primary: each tells what it did when it does. */
const WORKERS_MS = 1_000;

/** Runs the command and ends this process as it ended. Rejects with a `Failure`. */
export async function boost(options: BoostOptions): Promise<void> {
  const policy = understood(options.drive.policy);
  if (options.out !== undefined) requireWritable(options.out);
  checkAgent();
  const node = await nodeVersionOf(options.command);
  if (node !== undefined) {
    checkNodeVersion(node);
  }
  await putBackLeftovers(options.quiet);
  const place = ownPlace();
  let ended: Ended;
  let isAllBack = true;
  try {
    ended = await run(options, 'refused' in policy ? policy : { ...policy, ...place });
  } finally {
    if ('folder' in place) isAllBack = await endOwnFolder(place.folder);
  }
  // Last: a service that died of a signal is followed into it.
  exitLike(isAllBack ? outcomeOf(ended) : outcomeOf({ ...ended, trouble: 'leftRaised' }));
}

/** What a boost needs, or why there is none. */
type Prepared = { readonly policy: string; readonly folder: string } | { readonly refused: string };

/** Where this command has its things: a full disk keeps no service from running. */
function ownPlace(): { readonly folder: string } | { readonly refused: string } {
  try {
    return { folder: makeOwnFolder('boost') };
  } catch (error) {
    return { refused: `no place to boost from: ${systemReason(error)}` };
  }
}

/** Of what the system refused. Throws what is a mistake of our own. */
function systemReason(error: unknown): string {
  const isOfSystem =
    error instanceof Error && typeof (error as { code?: unknown }).code === 'string';
  if (isOfSystem || error instanceof Failure) return oneLine(error.message);
  throw error;
}

/** A policy with all its settings, or why it is none. */
type Understood = { readonly policy: string } | { readonly refused: string };

/**
 * What is no policy keeps no service from running: it may come from the environment of a
 * deployment, long after somebody tried it.
 */
function understood(text: string): Understood {
  try {
    return { policy: canonicalPolicy(text) };
  } catch (error) {
    if (error instanceof Failure && error.exitName === 'usage') return { refused: error.message };
    throw error;
  }
}

/** Why a command that another bobtail runs is not boosted, too: both would drive one loop. */
function underAnother(env: NodeJS.ProcessEnv): string | undefined {
  if (env.BOBTAIL_BOOST_DIR !== undefined) return 'this runs under another bobtail boost';
  return env.BOBTAIL_DIR === undefined ? undefined : 'this runs under bobtail record';
}

/** How the service ended, and what was not as it should be with its boost. */
interface Ended {
  readonly outcome: Outcome;
  readonly trouble: ExitName;
}

/** A service that ended well does not hide a trouble of the boost; its own goes first. */
function outcomeOf({ outcome, trouble }: Ended): Outcome {
  const isWell = outcome.signal === null && outcome.exitCode === 0;
  return isWell ? { ...outcome, exitCode: EXIT_CODES[trouble] } : outcome;
}

async function run(asked: BoostOptions, prepared: Prepared): Promise<Ended> {
  const policy = 'policy' in prepared ? prepared.policy : asked.drive.policy;
  const options = { ...asked, drive: { ...asked.drive, policy } };
  const lever = await leverFor(options, prepared);
  const refused = 'drive' in lever ? undefined : lever.refused;
  // Also of a quiet one: it is no progress, and nothing else tells why nothing is boosted.
  if (refused !== undefined) {
    tell(`bobtail: ${refused}; the service runs unboosted`);
  } else if (!options.quiet && 'drive' in lever && lever.isFound) {
    tell(`bobtail: ${lever.about}`);
  }
  const folder = 'folder' in prepared ? prepared.folder : undefined;
  try {
    const isDriven = 'drive' in lever && folder !== undefined;
    const env = isDriven ? boostEnv(folder, lever.drive) : process.env;
    const keeper = 'drive' in lever ? lever.keeper : undefined;
    const raised = async () => (await keeper?.raised()) ?? [];
    return await runWith(options, folder, env, { drive: options.drive, refused, raised });
  } finally {
    if ('drive' in lever) await lever.keeper?.end();
  }
}

/** A lever, or why there is none: none is a reason not to run the service. */
async function leverFor(options: BoostOptions, prepared: Prepared): Promise<Lever> {
  if ('refused' in prepared) return prepared;
  const other = underAnother(process.env);
  if (other !== undefined) return { refused: other };
  try {
    return await findLever(options.lever, options.drive, prepared.folder);
  } catch (error) {
    return { refused: `no lever: ${systemReason(error)}` };
  }
}

async function runWith(
  options: BoostOptions,
  folder: string | undefined,
  env: NodeJS.ProcessEnv,
  watched: Omit<Watched, 'silence'>,
): Promise<Ended> {
  const isDriven = watched.refused === undefined;
  let service: ProcessGroup | undefined;
  const silence = () => (service === undefined ? undefined : otherUser(service.pid));
  const status = new StatusLine(options.quiet || !isDriven);
  const startMs = performance.now();
  const troubles = new Troubles((line) => {
    status.clear();
    tell(line);
  });
  const live = new LiveBoost(folder, { ...watched, silence }, (now) => {
    if (isDriven) troubles.see(now.files, now.silence);
    status.show(`bobtail: ${progressOf(now)} · ${formatElapsed(startMs)}`);
  });
  try {
    const telling = await startTelling(options.listeners, options, () => live.now());
    let outcome: Outcome;
    try {
      outcome = await serve(options, env, (started) => {
        service = started;
      });
    } finally {
      status.clear();
      // Also of a command that cannot be started: who listens would keep this process.
      await telling.end();
    }
    // However that goes, the service has ended as it has.
    const trouble = await conclude(live, troubles, options, isDriven).catch((error: unknown) => {
      tell(`bobtail: cannot tell what the boost did: ${reasonOf(error)}`);
      return 'internal' as const;
    });
    return { outcome, trouble };
  } finally {
    live.end();
    status.clear();
  }
}

/** Tells what was done; what was not as it should be with it. */
async function conclude(
  live: LiveBoost,
  troubles: Troubles,
  options: BoostOptions,
  isDriven: boolean,
): Promise<ExitName> {
  await live.ask();
  const { summary, files, silence } = live.now();
  // Who wants no summary still wants to know that there was no boost.
  if (isDriven && options.quiet) troubles.see(files, silence);
  const written = leave(summary, options, isDriven);
  const trouble = troubleOf(summary);
  return trouble === 'ok' ? written : trouble;
}

/**
 * What never listened had nothing to boost; a lever that refused each change boosted nothing, and
 * one that was lost boosts nothing since.
 */
export function troubleOf({ counters, pid, isLost }: BoostSummary): ExitName {
  const isRefused = counters !== null && counters.boosts === 0 && counters.refused > 0;
  return isRefused || isLost || (counters === null && pid !== null) ? 'notBoosted' : 'ok';
}

/** Runs the service to its end. */
async function serve(
  { command }: BoostOptions,
  env: NodeJS.ProcessEnv,
  onStart: (service: ProcessGroup) => void,
): Promise<Outcome> {
  const held = holdSignals();
  try {
    const service = await startService(command, env, 'inherit');
    onStart(service);
    held.passOn(service);
    const outcome = await service.ended;
    await service.emptied(WORKERS_MS);
    return outcome;
  } finally {
    held.release();
  }
}

/** What is happening; of the requests, the last minute's. */
function progressOf({ summary, recent, isWaiting }: Live): string {
  if (isWaiting) return 'waiting for a server to listen';
  const [done = ''] = renderSummary(summary);
  return recent === null ? done : `${done} · ${renderRequests(recent)}`;
}

function formatElapsed(startMs: number): string {
  return formatDuration((performance.now() - startMs) * NS_PER_MS);
}

/** Tells the summary, and writes it where that was asked for. */
function leave(summary: BoostSummary, { out, quiet }: BoostOptions, isDriven: boolean): ExitName {
  // That there is no lever was told before the service started.
  if (!quiet && isDriven) {
    for (const line of renderSummary(summary)) {
      tell(`  ${line}`);
    }
  }
  return out === undefined ? 'ok' : writeSummary(summary, out);
}
