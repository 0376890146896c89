/**
 * What a boost does while it runs: read once a second, shown, and told to whoever asks.
 *
 * Read from files by this process. The service neither serves metrics nor sends them, since that
 * would be work on the very loop whose tail is at stake.
 */
import type { DriveOptions } from '../../agent/boost/settings';
import { tell } from '../console';
import { reasonOf } from '../failure';
import type { DriverFile } from './driver-file';
import { startMetering } from './energy';
import { type Counted, figuresOf, NOTHING, type RequestFigures, since } from './latencies';
import { Processes, type Told } from './processes';
import type { AskRaised, Raised } from './raised';
import { type BoostSummary, type Silence, summarize } from './summary';

/** A minute: what happened before says little of a service that is watched. */
const WINDOW_MS = 60_000;
const LOOK_MS = 1_000;

/** What is known at one moment. */
export interface Live {
  readonly summary: BoostSummary;
  /** What each process tells that is there. */
  readonly files: readonly DriverFile[];
  /** Of all requests so far. */
  readonly counted: Counted;
  /** Of the last minute; null without a request in it. */
  readonly recent: RequestFigures | null;
  /** Who cannot tell anything. */
  readonly silence: Silence | undefined;
  /** No process has told anything yet. */
  readonly isWaiting: boolean;
}

/** What drives, and what is known of it beside what its processes tell. */
export interface Watched {
  readonly drive: DriveOptions;
  /** Why nothing is driven at all. */
  readonly refused: string | undefined;
  /** Asks how long the levers were up. */
  readonly raised: AskRaised;
  /** Why nobody tells anything, where that is known. */
  readonly silence: () => Silence | undefined;
}

/** Looks at a folder once a second until it is ended. */
export class LiveBoost {
  readonly #processes: Processes | undefined;
  readonly #watched: Watched;
  #raised: readonly Raised[] = [];
  readonly #energy = startMetering();
  readonly #past: { readonly atMs: number; readonly counted: Counted }[] = [];
  readonly #timer: NodeJS.Timeout;
  #silence: Silence | undefined;
  #looks = 0;
  #isTrouble = false;

  /** `show` is given what is known at each look; without a folder nobody tells anything. */
  constructor(folder: string | undefined, watched: Watched, show: (live: Live) => void) {
    this.#processes = folder === undefined ? undefined : new Processes(folder);
    this.#watched = watched;
    this.#timer = setInterval(() => {
      try {
        show(this.#look());
      } catch (error) {
        // The service has no other to pass on its signals and its end: that goes on.
        this.#tellOnce(error);
      }
      void this.ask();
    }, LOOK_MS);
    this.#look();
  }

  #tellOnce(error: unknown): void {
    if (!this.#isTrouble) tell(`bobtail: cannot look at the boost: ${reasonOf(error)}`);
    this.#isTrouble = true;
  }

  /** Has the levers tell how long they were up, for `now()`. */
  async ask(): Promise<void> {
    const raised = await this.#watched.raised();
    if (raised.length > 0) this.#raised = raised;
  }

  /** What is known now. */
  now(): Live {
    const { drive, refused } = this.#watched;
    const { files, past, counted } = refused === undefined ? this.#read() : byNobody(refused);
    const all = [...past, ...files];
    const [oldest] = this.#past;
    return {
      summary: summarize(drive, all, {
        counted,
        energy: this.#energy(),
        raised: this.#raised,
        silence: this.#silence,
      }),
      files,
      silence: this.#silence,
      counted,
      recent: figuresOf(oldest === undefined ? counted : since(oldest.counted, counted)),
      isWaiting: all.length === 0,
    };
  }

  #look(): Live {
    const live = this.now();
    // Whoever is silent now may be gone when that is asked for. Seldomer and seldomer, as all that
    // runs here is looked at.
    this.#looks += 1;
    const isTime = (this.#looks & (this.#looks - 1)) === 0;
    if (isTime && live.isWaiting) this.#silence ??= this.#watched.silence();
    const atMs = performance.now();
    this.#past.push({ atMs, counted: live.counted });
    while (this.#past.length > 1 && (this.#past[1]?.atMs ?? atMs) < atMs - WINDOW_MS) {
      this.#past.shift();
    }
    // Last, so that who was refused and ended at once is told.
    this.#processes?.takeIn(live.files);
    return live;
  }

  #read(): Told {
    return this.#processes?.read() ?? { files: [], past: [], counted: NOTHING };
  }

  end(): void {
    clearInterval(this.#timer);
  }
}

/** Where nothing is driven at all, by this process. */
function byNobody(refused: string): Told {
  const { pid } = process;
  const file = { key: '', pid, namespace: '', missing: [], refused };
  return { files: [file], past: [], counted: NOTHING };
}
