// A service of a round that is recorded and not boosted, so that what replays predict is of the
// same minutes as what came live.
//
// Recordings made by themselves had other tails than the rounds, before any change: another minute
// of the host, load all the time and not in turns, and no turn left out because the core was slow.
// Here a recording has its turns among the others, and says when it had none that counts: `whatif`
// has the requests of then in no percentile.
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BARE, MAIN } from '../harness/bobtail.mjs';
import { descendants, LOAD_CORE, SERVER_CORE } from '../harness/cpu.mjs';
import { Connections } from '../harness/open-loop.mjs';
import { probeAside, recorderLast } from './drivers.mjs';
import { Running } from './running.mjs';
import { CONNECTIONS, Service, scriptOf, serviceEnv } from './service.mjs';

/** It did not drive. */
const UNDRIVEN = {
  counters: { boosts: 0, looks: 0, lookingNs: 0 },
  boostedShare: 0,
  energy: { relativeToBase: 1 },
};
/** It has those of the recording, whatever others have instead (`HOOKED` of `arms.mjs`). */
const OWN_HOOKS = { PROMISE_HOOKS: 'own' };
/** Before the first turn nothing is asked: the warm-up ends somewhere there. */
const BEFORE_FIRST_MS = 500;
/** When its turns were, beside the traces: not all of a recording's time is that of a turn. */
const TURNS = 'turns.json';

/**
 * A command of Node on the servers' core, under `bobtail record` into the folder `out`; that is at
 * first on the load's.
 */
export function startRecorded(args, { env, node, out }) {
  const command = ['taskset', '-c', String(SERVER_CORE), node, ...args];
  const recorder = [MAIN, 'record', ...BARE, '--out', out, '--', ...command];
  return Running.start(recorder, { env, core: LOAD_CORE });
}

/** A service under `bobtail record`, into `folder`, which is there only when it is whole. */
export class RecordedService extends Service {
  static async start({ service, flags, seed, workers, node, environment, folder }) {
    const part = `${folder}.part`;
    rmSync(part, { recursive: true, force: true });
    const env = serviceEnv({ seed, workers, environment: { ...environment, ...OWN_HOOKS } });
    const running = await startRecorded([...flags, scriptOf(service)], { env, node, out: part });
    const listeningMs = performance.now();
    try {
      const connections = await Connections.open(running.port, CONNECTIONS);
      probeAside(running.child.pid);
      recorderLast(running.child.pid);
      const told = { part, folder, running, listeningMs, connections };
      return Object.assign(new RecordedService(), told);
    } catch (error) {
      await running.stop();
      rmSync(part, { recursive: true, force: true });
      throw error;
    }
  }

  /** As those that drive tell it. */
  driven() {
    return Promise.resolve(UNDRIVEN);
  }

  /** Without the recorder, which is not there live. */
  pids() {
    return descendants(this.running.child.pid);
  }

  /** Ends it without a recording, unless it was kept. */
  async stop() {
    await this.#end();
    rmSync(this.part, { recursive: true, force: true });
  }

  /** Stopped once, whoever asks. */
  #end() {
    this.ended ??= (async () => {
      this.connections.close();
      await this.running.stop();
    })();
    return this.ended;
  }

  /**
   * Ends it and keeps the recording. Of time as `{fromMs, untilMs}`, in order, `turns` are all that
   * it had, `counting` what counts but for what is `disturbed`; `monotonicNs` is of a moment by
   * `performance.now`.
   */
  async keep({ turns, counting, disturbed, monotonicNs }) {
    await this.#end();
    const path = join(this.part, 'run.json');
    const run = JSON.parse(readFileSync(path, 'utf8'));
    if (run.outcome === null) throw new Error(`the recording in ${this.part} is not whole`);
    const warmupMs = turns[0].fromMs - BEFORE_FIRST_MS - this.listeningMs;
    run.warmupNs = Math.round(warmupMs * 1e6);
    const out = [...between(counting, turns.at(-1).untilMs), ...disturbed];
    run.host.disturbed = out.map(({ fromMs, untilMs }) => {
      return { fromNs: Math.max(0, monotonicNs(fromMs)), untilNs: monotonicNs(untilMs) };
    });
    writeFileSync(path, JSON.stringify(run));
    writeFileSync(join(this.part, TURNS), JSON.stringify(turns));
    rmSync(this.folder, { recursive: true, force: true });
    renameSync(this.part, this.folder);
  }
}

/** What lies before, between and after these, which are in order and apart. */
function between(windows, endMs) {
  const edges = [...windows, { fromMs: endMs, untilMs: endMs }];
  return edges
    .map(({ fromMs }, index) => ({ fromMs: edges[index - 1]?.untilMs ?? 0, untilMs: fromMs }))
    .filter(({ fromMs, untilMs }) => untilMs > fromMs);
}

/** How much of the time from its first turn to its last was a turn of its own; 1 without turns. */
export function turnsShare(folder) {
  const path = join(folder, TURNS);
  if (!existsSync(path)) return 1;
  const turns = JSON.parse(readFileSync(path, 'utf8'));
  const ofTurns = turns.reduce((sum, { fromMs, untilMs }) => sum + untilMs - fromMs, 0);
  return ofTurns / (turns.at(-1).untilMs - turns[0].fromMs);
}
