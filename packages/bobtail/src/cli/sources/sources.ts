/**
 * Where code is in the source that people wrote, for places of what ran.
 *
 * Read when a recording is analysed and not when it is made: the service must not pay for it. So
 * the files may have changed since; that is told, once for each file.
 */
import { type Stats, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { oneLine } from '../failure';
import { type FoundMap, findMap, readText, UnreadableMap } from './map-reference';
import { heldLength } from './map-size';
import { projectPath } from './project-path';
import { type CodeLocation, GeneratedSource, linesOf, parseMap } from './source-map';

/**
 * Of generated files with a map and their maps, together; what is beyond stays at the place that
 * ran. Held, they need some twelve times as much, and Node's heap has 2 GB or more.
 */
const BYTES_HELD_MAX = 128 * 1024 * 1024;
/** More notes than this help nobody. */
const NOTES_MAX = 20;

/** A place, and when the recording began that it was seen in, in milliseconds since 1970. */
export interface Ran extends CodeLocation {
  readonly recordedMs: number;
}

/** A file that ran. */
interface RanFile {
  readonly lineLengths: Uint32Array;
  /** Undefined without a map. */
  source?: GeneratedSource;
}

/** Answers for the time of one analysis; every file is read once. */
export class Sources {
  readonly #loaded = new Map<string, RanFile | undefined>();
  readonly #mapPaths = new Map<string, string>();
  readonly #notes = new Set<string>();
  readonly #bytesHeldMax: number;
  #missing = 0;
  #bytesHeld = 0;

  /** `bytesHeldMax`: of all files together. */
  constructor(bytesHeldMax = BYTES_HELD_MAX) {
    this.#bytesHeldMax = bytesHeldMax;
  }

  /** What the reader should know: maps that cannot be read, files that changed since. */
  get notes(): string[] {
    const notes = [...this.#notes].slice(0, NOTES_MAX);
    if (this.#notes.size > NOTES_MAX) {
      notes.push(`${this.#notes.size - NOTES_MAX} more notes on source maps`);
    }
    if (this.#missing > 0) {
      const files =
        this.#missing === 1 ? '1 file that ran is' : `${this.#missing} files that ran are`;
      notes.push(`${files} not here: no source map was looked for`);
    }
    return notes;
  }

  /** The place in the source; undefined where what ran is all that is known. Never throws. */
  original(ran: Ran): CodeLocation | undefined {
    const { file, line, column, recordedMs } = ran;
    if (!isAbsolute(file) || line < 1 || column < 1) {
      return undefined;
    }
    const loaded = this.#load(file);
    if (loaded === undefined) {
      return undefined;
    }
    const length = loaded.lineLengths[line - 1];
    if (length === undefined || column > length + 1) {
      this.#notes.add(
        `${file} is not what ran (changed since, or compiled in memory): its places are not in it`,
      );
      return undefined;
    }
    const found = this.#lookUp(loaded, ran);
    if (found === undefined) {
      return undefined;
    }
    this.#noteChange(file, recordedMs, 'places in it may be wrong');
    this.#noteChange(this.#mapPaths.get(file), recordedMs, 'places by it may be wrong');
    const path = pathOf(found.file, file);
    this.#noteChange(path, recordedMs, 'its lines may have moved');
    return { ...found, file: path };
  }

  #lookUp(loaded: RanFile, ran: Ran): CodeLocation | undefined {
    try {
      return loaded.source?.original(ran);
    } catch (error) {
      delete loaded.source;
      this.#notes.add(`no source map of ${ran.file}: ${damage(ran.file, this.#mapPaths, error)}`);
      return undefined;
    }
  }

  #load(file: string): RanFile | undefined {
    if (!this.#loaded.has(file)) {
      this.#loaded.set(file, this.#read(file));
    }
    return this.#loaded.get(file);
  }

  #read(file: string): RanFile | undefined {
    if (statOf(file)?.isFile() !== true) {
      this.#missing += 1;
      return undefined;
    }
    let ran: RanFile | undefined;
    try {
      const text = readText(file);
      const lines = linesOf(text);
      ran = { lineLengths: Uint32Array.from(lines, ({ length }) => length) };
      const map = findMap(file, text);
      if (map === undefined) {
        return ran;
      }
      ran.source = this.#parse(file, map, text.length, lines);
    } catch (error) {
      if (!(error instanceof UnreadableMap)) {
        throw error;
      }
      this.#notes.add(`no source map of ${file}: ${error.message}`);
    }
    return ran;
  }

  #parse(file: string, map: FoundMap, length: number, lines: readonly string[]): GeneratedSource {
    if (map.path !== undefined) {
      this.#mapPaths.set(file, map.path);
    }
    try {
      const parsed = parseMap(map.json);
      this.#hold(length + heldLength(parsed, map.json, lines.length));
      return new GeneratedSource(parsed, map.url, lines);
    } catch (error) {
      if (error instanceof UnreadableMap) {
        throw error;
      }
      throw new UnreadableMap(damage(file, this.#mapPaths, error), { cause: error });
    }
  }

  #hold(bytes: number): void {
    if (this.#bytesHeld + bytes > this.#bytesHeldMax) {
      throw new UnreadableMap('too large with those read before it');
    }
    this.#bytesHeld += bytes;
  }

  #noteChange(path: string | undefined, recordedMs: number, meaning: string): void {
    if (path === undefined || !isAbsolute(path)) {
      return;
    }
    const stat = statOf(path);
    if (stat === undefined) {
      return;
    }
    if (stat.mtimeMs > recordedMs) {
      this.#notes.add(`${path} was changed after it was recorded: ${meaning}`);
    } else if (stat.ctimeMs > recordedMs) {
      // An older file keeps its time when it is copied or moved to that place; this one is the
      // kernel's own. A change of its rights or links alone counts, too.
      this.#notes.add(`${path} may have been put there after it was recorded: ${meaning}`);
    }
  }
}

function damage(file: string, mapPaths: ReadonlyMap<string, string>, error: unknown): string {
  const what = mapPaths.get(file) ?? 'the one inside it';
  const why = oneLine(String((error as Error).message)).slice(0, 120);
  return `${what} is damaged: ${why}`;
}

/** undefined also where it may not be looked at: the file itself tells then. */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** A source of a map of `generated` by its URL: a path where it is a file. */
function pathOf(url: string, generated: string): string {
  if (!url.startsWith('file:')) {
    return projectPath(url, generated) ?? url;
  }
  try {
    return fileURLToPath(url);
  } catch {
    // A host in it, or an escape that is no path: shown as the map has it.
    return url;
  }
}
