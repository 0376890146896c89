/**
 * The typed face of the native analysis: folder in, parsed answer out.
 *
 * The addon is loaded at the first call, so that `record`, `doctor` and `--help` work where it
 * cannot be loaded, and its error codes become exit codes here and nowhere else.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ExitName } from './exit-codes';
import type { Exported } from './export/export';
import type { AddonFormat } from './export/formats';
import type { TableName } from './export/tables';
import { Failure, oneLine } from './failure';
import type { Diff } from './json/diff';
import type { Explanation } from './json/explanation';
import type { Report } from './json/report';
import type { WhatIf } from './json/what-if';
import type { CodeLocation } from './sources/source-map';
import { type Ran, Sources } from './sources/sources';

/** A recording after the first pass, with the places that code was seen running at. */
interface Surveyed {
  readonly places: string;
}

interface Binding {
  places(dir: string): Promise<string>;
  survey(dir: string): Promise<Surveyed>;
  report(of: Surveyed, optionsJson: string, originalsJson: string): Promise<string>;
  explain(dir: string, optionsJson: string, originalsJson: string): Promise<string>;
  explainMany(dir: string, optionsJson: string, originalsJson: string): Promise<string>;
  exportTo(of: Surveyed, optionsJson: string, originalsJson: string): Promise<string>;
  page(of: Surveyed, optionsJson: string, originalsJson: string): Promise<string>;
  gauge(dir: string, optionsJson: string, originalsJson: string): Promise<string>;
  diff(a: Surveyed, b: Surveyed, optionsJson: string, originalsJson: string): Promise<string>;
  diffPage(a: Surveyed, b: Surveyed, optionsJson: string, originalsJson: string): Promise<string>;
  whatIf(dir: string, optionsJson: string): Promise<string>;
  latencies(dir: string): Promise<string>;
  rounds(optionsJson: string): Promise<string>;
  policy(text: string): string;
  relativePower(ratio: number): number;
  version(): string;
  EnergyMeter: new (root?: string) => EnergyMeter;
  RowReader: new (
    of: Surveyed,
    optionsJson: string,
    originalsJson: string,
  ) => { next(): Promise<string | null> };
}

const BINDING_PATH = join(__dirname, '..', '..', 'native', 'bobtail-binding.node');

const EXIT_NAMES: Readonly<Record<string, ExitName>> = {
  BOBTAIL_NOT_A_RECORDING: 'notRecording',
  BOBTAIL_NEWER_FORMAT: 'newerFormat',
  BOBTAIL_DAMAGED: 'damaged',
  BOBTAIL_READ: 'damaged',
  BOBTAIL_NOTHING_RECORDED: 'nothingRecorded',
  BOBTAIL_UNKNOWN_REQUEST: 'usage',
  BOBTAIL_OPTIONS: 'usage',
  BOBTAIL_WRITE: 'cannotWrite',
  BOBTAIL_DISK_FULL: 'diskFull',
  BOBTAIL_NOT_REPLAYABLE: 'notReplayable',
};

/** What `report` can be asked for. */
export interface ReportOptions {
  /** Where the tail begins, if enough requests lie beyond it. Default 99.9. */
  readonly percentile?: number;
}

/** Which request `explain` is about: by rank of latency (1 the slowest), or by id. */
export type ExplainOptions = { readonly slowest: number } | { readonly request: string };

/** The report of a recording. Rejects with a `Failure`. */
export async function analyzeReport(dir: string, options: ReportOptions = {}): Promise<Report> {
  const sources = new Sources();
  const report = JSON.parse(await askSurveyed('report', dir, options, sources)) as Report;
  return { ...report, notes: sources.notes };
}

/** What the HTML report shows, as far as the command line knows it. */
export interface PageData {
  readonly report: Report;
}

/** What the HTML report shows (`spec/html.schema.json`). Rejects with a `Failure`. */
export async function analyzePage(dir: string, options: ReportOptions = {}): Promise<PageData> {
  const sources = new Sources();
  const page = JSON.parse(await askSurveyed('page', dir, options, sources)) as PageData;
  return { ...page, report: { ...page.report, notes: sources.notes } };
}

/** One request of a recording. Rejects with a `Failure`. */
export async function analyzeRequest(dir: string, options: ExplainOptions): Promise<Explanation> {
  const sources = new Sources();
  const answer = JSON.parse(await askRequests('explain', dir, options, sources)) as Explanation;
  return { ...answer, notes: sources.notes };
}

/** Which requests `analyzeRequests` is about: those with these ids, or every finished one. */
export type RequestSelection = { readonly ids: readonly string[] } | { readonly all: true };

/**
 * Several requests of a recording, slowest first. Rejects with a `Failure`.
 *
 * Reads the recording once, where a call of `analyzeRequest` for each would read it as many times.
 */
export async function analyzeRequests(
  dir: string,
  selection: RequestSelection,
): Promise<Explanation[]> {
  const sources = new Sources();
  const json = await askRequests('explainMany', dir, selection, sources);
  const { notes } = sources;
  return (JSON.parse(json) as Explanation[]).map((answer) => ({ ...answer, notes }));
}

/** Which requests are exported: those that fit; without any of these, what the format is for. */
export interface ExportSelection {
  /** The tail, from this percentile on. */
  readonly percentile?: number;
  /** Every request. */
  readonly all?: boolean;
  /** So many of the slowest. */
  readonly slowest?: number;
  /** These, by id. */
  readonly requests?: readonly string[];
  /** Of this route, as the report has it. */
  readonly route?: string;
  /** Under way after so long since the start of the recording. */
  readonly fromNs?: number;
  /** Under way before so long since the start of the recording. */
  readonly toNs?: number;
  /** `otlp`: the `service.name` of the spans. */
  readonly service?: string;
}

/** What the addon writes, and where. */
export interface ExportOptions extends ExportSelection {
  readonly format: AddonFormat;
  /** The file to write. */
  readonly file: string;
  /** What errors call it. */
  readonly out: string;
}

/** As `ExportOptions`; rows are handed on, not written. */
export interface RowOptions extends ExportSelection {
  /** What errors call the output. */
  readonly out: string;
}

/** Some rows of a table, by columns. */
export interface RowPiece {
  readonly table: TableName;
  readonly columns: Readonly<Record<string, readonly unknown[]>>;
}

/**
 * Hands on the rows of tables, in pieces of at the most some 20,000. The next is not read before
 * `take` is done with the one before. Rejects with a `Failure`, or with what `take` throws.
 */
export async function readRows(
  dir: string,
  options: RowOptions,
  take: (piece: RowPiece) => Promise<void>,
): Promise<Exported> {
  const { RowReader } = loadBinding();
  const sources = new Sources();
  const wanted = JSON.stringify({ format: 'rows', ...options });
  const surveyed = await ask((binding) => binding.survey(dir));
  const reader = new RowReader(surveyed, wanted, originalsOf([surveyed.places], sources));
  for (;;) {
    const text = await reader.next().catch((error) => {
      throw toFailure(error);
    });
    if (text === null) {
      throw new Failure('internal', 'the rows ended without an end');
    }
    const piece = JSON.parse(text) as RowPiece | Exported;
    if (!('table' in piece)) {
      return { ...piece, notes: sources.notes };
    }
    await take(piece);
  }
}

/** Writes a file of another tool. Rejects with a `Failure`; half a file may be left then. */
export async function analyzeExport(dir: string, options: ExportOptions): Promise<Exported> {
  const sources = new Sources();
  const exported = JSON.parse(await askSurveyed('exportTo', dir, options, sources)) as Exported;
  return { ...exported, notes: sources.notes };
}

/** A figure of the requests of a route, or of all. */
export interface Gauge {
  readonly route: string | null;
  readonly figure:
    | 'mean'
    | 'tail'
    | { readonly percentile: number }
    | { readonly tailCause: string };
}

/** What was measured of it. */
export interface Gauged {
  /** Requests of the route; of figures of the tail, those in the tail. */
  readonly count: number;
  readonly valueNs: number | null;
  /** 95 % confidence interval. */
  readonly intervalNs: readonly [number, number] | null;
  /** Of causes: of latency (io, queue, exec, unattributed), or of queue and exec. */
  readonly share: number | null;
  readonly intervalShare: readonly [number, number] | null;
  readonly lack: null | 'no-requests' | 'too-few' | 'not-measured' | 'unknown-cause';
  /** Requests that the figure needs. */
  readonly needed: number | null;
}

/** Figures of a recording with their intervals, in their order. Rejects with a `Failure`. */
export async function analyzeGauges(
  dir: string,
  gauges: readonly Gauge[],
  options: ReportOptions = {},
): Promise<Gauged[]> {
  // No gauge is of a place in code, so none is looked up.
  const answer = ask((binding) => binding.gauge(dir, JSON.stringify({ ...options, gauges }), '[]'));
  return JSON.parse(await answer) as Gauged[];
}

/** Options of a difference. */
export interface DiffOptions extends ReportOptions {
  /** Routes that are told besides those with most time, if they have requests. */
  routes?: readonly string[];
}

/** What moved from recording `dirA` to recording `dirB`. Rejects with a `Failure`. */
export async function analyzeDiff(
  dirA: string,
  dirB: string,
  options: DiffOptions = {},
): Promise<Diff> {
  const sources = new Sources();
  const answer = JSON.parse(await compare('diff', dirA, dirB, options, sources)) as Diff;
  return { ...answer, notes: sources.notes };
}

/** What the page of a difference shows, as far as the command line knows it. */
export interface DiffPageData {
  readonly diff: Diff;
}

/** What the page of a difference shows (`spec/diff-html.schema.json`). Rejects with a `Failure`. */
export async function analyzeDiffPage(
  dirA: string,
  dirB: string,
  options: DiffOptions = {},
): Promise<DiffPageData> {
  const sources = new Sources();
  const page = JSON.parse(await compare('diffPage', dirA, dirB, options, sources)) as DiffPageData;
  return { ...page, diff: { ...page.diff, notes: sources.notes } };
}

/** What `analyzeWhatIf` is asked. */
export interface WhatIfOptions extends ReportOptions {
  /** Changes such as `gc=0.7,pool=8`; each text is a scenario. */
  readonly scenarios: readonly string[];
  /** Each outcome with its distribution of latencies (default: false). */
  readonly latencies?: boolean;
}

/** What scenarios would bring. Rejects with a `Failure`. */
export async function analyzeWhatIf(dir: string, options: WhatIfOptions): Promise<WhatIf> {
  return JSON.parse(await ask((binding) => binding.whatIf(dir, JSON.stringify(options)))) as WhatIf;
}

/**
 * Latencies of a recording after warm-up, to three digits and ascending, and how many requests had
 * each. Rejects with a `Failure`.
 */
export async function analyzeLatencies(dir: string): Promise<[number, number][]> {
  return JSON.parse(await ask((binding) => binding.latencies(dir))) as [number, number][];
}

/** One run of one arm of an experiment. */
export interface Round {
  readonly latencies: readonly (readonly [latencyNs: number, requests: number])[];
  /** Figures of the run as a whole, the same ones in every round. */
  readonly measures: readonly number[];
}

/** One figure of two arms; null is "cannot be told". */
export interface Ratio {
  readonly a: number | null;
  readonly b: number | null;
  /** B by A, with its 95 % interval from `low` to `high`. */
  readonly ratio: number | null;
  readonly low: number | null;
  readonly high: number | null;
  /** Why there is no interval, or nothing at all. */
  readonly lack: 'requests' | 'incidents' | 'rounds' | null;
}

/** What differs between two arms. */
export interface RoundsDiff {
  /** Of latency in nanoseconds, highest first. */
  readonly percentiles: readonly (Ratio & { readonly percentile: number })[];
  /** Means of the rounds' measures, in their order. */
  readonly measures: readonly Ratio[];
}

/** At most so many rounds are compared. */
export const ROUNDS_MAX = 32;

/** Compares two arms, whose rounds are pairs: a paired bootstrap. Rejects with a `Failure`. */
export async function analyzeRounds(a: readonly Round[], b: readonly Round[]): Promise<RoundsDiff> {
  const answer = ask((binding) => binding.rounds(JSON.stringify({ a, b })));
  return JSON.parse(await answer) as RoundsDiff;
}

/** A policy with all its settings, as `boost` and `whatif` take it. Throws a `Failure`. */
export function canonicalPolicy(text: string): string {
  try {
    return loadBinding().policy(text);
  } catch (error) {
    throw toFailure(error);
  }
}

/** Counts the energy of the machine's processors; to be asked every few minutes at least. */
export interface EnergyMeter {
  /** Since it was opened. Throws where a counter cannot be read any longer. */
  joules(): number;
}

/** Opens the counters; undefined where nothing is counted, or only for root. */
export function openEnergyMeter(root?: string): EnergyMeter | undefined {
  const { EnergyMeter } = loadBinding();
  try {
    return new EnergyMeter(root);
  } catch (error) {
    if (/^BOBTAIL_(ENERGY|LEVER)_/.test(String((error as Error).message))) return undefined;
    throw error;
  }
}

/** Power by that at base, of the model that replays go by; `ratio` is of the speeds. */
export function relativePower(ratio: number): number {
  return loadBinding().relativePower(ratio);
}

/** Version of the analysis addon. */
export function analysisVersion(): string {
  return loadBinding().version();
}

/** Of the whole recording: its first pass tells the places for nothing. */
function askSurveyed(
  name: 'report' | 'exportTo' | 'page',
  dir: string,
  options: object,
  sources: Sources,
): Promise<string> {
  return ask(async (binding) => {
    const surveyed = await binding.survey(dir);
    const originals = originalsOf([surveyed.places], sources);
    return binding[name](surveyed, JSON.stringify(options), originals);
  });
}

function askRequests(
  name: 'explain' | 'explainMany',
  dir: string,
  options: object,
  sources: Sources,
): Promise<string> {
  return ask(async (binding) => {
    const originals = originalsOf([await binding.places(dir)], sources);
    return binding[name](dir, JSON.stringify(options), originals);
  });
}

function compare(
  name: 'diff' | 'diffPage',
  dirA: string,
  dirB: string,
  options: DiffOptions,
  sources: Sources,
): Promise<string> {
  return ask(async (binding) => {
    const [a, b] = [await binding.survey(dirA), await binding.survey(dirB)];
    const originals = originalsOf([a.places, b.places], sources);
    return binding[name](a, b, JSON.stringify(options), originals);
  });
}

async function ask<T>(question: (binding: Binding) => Promise<T>): Promise<T> {
  const binding = loadBinding();
  try {
    return await question(binding);
  } catch (error) {
    throw toFailure(error);
  }
}

/** What `sources` know of the places of these recordings, as the addon takes it. */
function originalsOf(places: readonly string[], sources: Sources): string {
  const known: { ran: Ran; original: CodeLocation }[] = [];
  for (const json of places) {
    for (const ran of JSON.parse(json) as Ran[]) {
      const original = sources.original(ran);
      if (original !== undefined) {
        known.push({ ran, original });
      }
    }
  }
  return JSON.stringify(known);
}

function loadBinding(): Binding {
  try {
    return require(BINDING_PATH) as Binding;
  } catch (error) {
    const why = existsSync(BINDING_PATH)
      ? oneLine(String((error as Error).message))
      : `not built for ${process.platform}-${process.arch}`;
    throw new Failure('internal', `the analysis addon cannot be loaded: ${why}`);
  }
}

/** `BOBTAIL_CODE: message` of the addon as an exit code and a line. */
function toFailure(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const [, code = 'BOBTAIL_INTERNAL', text = message] =
    /^(BOBTAIL_[A-Z_]+): ([\s\S]*)$/.exec(message) ?? [];
  return new Failure(EXIT_NAMES[code] ?? 'internal', oneLine(text));
}
