/**
 * What a boost does while it runs: read once a second, shown, and told to whoever asks.
 *
 * Read from files by this process. The service neither serves metrics nor sends them, since that
 * would be work on the very loop whose tail is at stake.
 */
import type { DriveOptions } from '../../agent/boost/settings';
import { isAlive } from '../alive';
import { type DriverFile, readDriverFiles } from './driver-file';
import { startMetering } from './energy';
import { type Counted, figuresOf, type RequestFigures, readLatencies, since } from './latencies';
import type { AskRaised, Raised } from './raised';
import { type BoostSummary, summarize } from './summary';

/** A minute: what happened before says little of a service that is watched. */
const WINDOW_MS = 60_000;
const LOOK_MS = 1_000;

/** What is known at one moment. */
export interface Live {
  readonly summary: BoostSummary;
  /** What each process tells. */
  readonly files: readonly DriverFile[];
  /** Of all requests so far. */
  readonly counted: Counted;
  /** Of the last minute; null without a request in it. */
  readonly recent: RequestFigures | null;
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
}

/** Looks at a folder once a second until it is ended. */
export class LiveBoost {
  readonly #folder: string;
  readonly #watched: Watched;
  #raised: readonly Raised[] = [];
  readonly #energy = startMetering();
  readonly #past: { readonly atMs: number; readonly counted: Counted }[] = [];
  readonly #timer: NodeJS.Timeout;
  /** Processes that ended while others went on. */
  readonly #ended = new Set<number>();

  /** `show` is given what is known at each look. */
  constructor(folder: string, watched: Watched, show: (live: Live) => void) {
    this.#folder = folder;
    this.#watched = watched;
    this.#timer = setInterval(() => {
      show(this.#look());
      void this.ask();
    }, LOOK_MS);
    this.#look();
  }

  /** Has the levers tell how long they were up, for `now()`. */
  async ask(): Promise<void> {
    const raised = await this.#watched.raised();
    if (raised.length > 0) this.#raised = raised;
  }

  /** What is known now. */
  now(): Live {
    const { drive, refused } = this.#watched;
    const told = readDriverFiles(this.#folder);
    const files = refused === undefined ? told : [{ pid: process.pid, refused }];
    const counted = readLatencies(this.#folder);
    const [oldest] = this.#past;
    return {
      summary: summarize(drive, files, {
        counted,
        energy: this.#energy(),
        raised: this.#raised,
        ended: this.#ended,
      }),
      files,
      counted,
      recent: figuresOf(oldest === undefined ? counted : since(oldest.counted, counted)),
      isWaiting: files.length === 0,
    };
  }

  #look(): Live {
    const live = this.now();
    this.#noteEnded(live.files);
    const atMs = performance.now();
    this.#past.push({ atMs, counted: live.counted });
    while (this.#past.length > 1 && (this.#past[1]?.atMs ?? atMs) < atMs - WINDOW_MS) {
      this.#past.shift();
    }
    return live;
  }

  /** At the end of a service all of them end: that says nothing of any. */
  #noteEnded(files: readonly DriverFile[]): void {
    const gone = files.filter(({ pid }) => !isAlive(pid));
    if (gone.length < files.length) for (const { pid } of gone) this.#ended.add(pid);
  }

  end(): void {
    clearInterval(this.#timer);
  }
}
