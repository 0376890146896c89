/**
 * Looks up places of a generated file in its source map.
 *
 * With trace-mapping and not Node's own `SourceMap`: that one leaves `sourceRoot` out, and where a
 * line has no mapping it answers with one of a line before.
 */
import {
  AnyMap,
  eachMapping,
  originalPositionFor,
  type SourceMapInput,
  type TraceMap,
} from '@jridgewell/trace-mapping';

/** A place in code; numbers from 1, the column in UTF-16 units. */
export interface CodeLocation {
  /** Empty for a function without a name. */
  readonly function: string;
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The lines of a script, as V8 counts them. */
export function linesOf(text: string): string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/);
}

/** A source map and the lines that it was made for. */
export class GeneratedSource {
  readonly #map: TraceMap;
  readonly #lines: readonly string[];
  /** By source: what a name in the bundle stands for there; null for several things. */
  #names: Map<string, Map<string, string | null>> | undefined;

  /**
   * `map` is what `parseMap` gave, `url` where it was found, by which its sources are resolved;
   * `lines` those of the generated file. Throws where it is no source map.
   */
  constructor(map: unknown, url: string, lines: readonly string[]) {
    this.#map = new AnyMap(map as SourceMapInput, url);
    // Decoded at the first look-up: here, so that damage is found once.
    originalPositionFor(this.#map, { line: 1, column: 0 });
    this.#lines = lines;
  }

  /**
   * The place in a source; undefined where the map knows none. Throws where a damaged map shows
   * it only now.
   */
  original(ran: CodeLocation): CodeLocation | undefined {
    const found = originalPositionFor(this.#map, { line: ran.line, column: ran.column - 1 });
    // Undefined where a damaged map names a source that it has not got.
    if (!found.source || !(found.line >= 1) || !(found.column >= 0)) {
      return undefined;
    }
    return {
      function: this.#functionName(ran.function, found.source),
      file: found.source,
      line: found.line,
      column: found.column + 1,
    };
  }

  /**
   * What a function is called in its source. The map tells what names stand for, but not where
   * functions begin; so a name that stands for several there is left out.
   */
  #functionName(name: string, source: string): string {
    if (name === '') {
      return '';
    }
    // Of all sources at once: a pass for each takes seconds in a bundle of thousands.
    this.#names ??= this.#collectNames();
    const original = this.#names.get(source)?.get(name);
    return original === undefined ? name : (original ?? '');
  }

  #collectNames(): Map<string, Map<string, string | null>> {
    const namesOf = new Map<string, Map<string, string | null>>();
    eachMapping(this.#map, (mapping) => {
      if (!mapping.source || !mapping.name) {
        return;
      }
      const rest = this.#lines[mapping.generatedLine - 1]?.slice(mapping.generatedColumn);
      const [generated] =
        /^[\p{ID_Start}$_#][\p{ID_Continue}$\u200c\u200d]*/u.exec(rest ?? '') ?? [];
      if (generated !== undefined) {
        const names = namesOf.get(mapping.source) ?? new Map<string, string | null>();
        namesOf.set(mapping.source, names);
        const known = names.get(generated);
        const same = known === undefined || known === mapping.name;
        names.set(generated, same ? mapping.name : null);
      }
    });
    return namesOf;
  }
}

/** A map as JSON, without the `)]}'` line that keeps a browser from running it. Throws. */
export function parseMap(json: string): unknown {
  return JSON.parse(json.startsWith(")]}'") ? json.slice(json.indexOf('\n') + 1) : json);
}
