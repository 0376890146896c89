/**
 * How much a source map takes when it is held, told before it is decoded.
 *
 * By the separators and not by the length of the text: a `;` alone makes a list in memory, so a map
 * of nothing else would take all there is. The encoding needs one character for what a mapping of
 * five or six takes as much room for.
 */

/** Characters of an ordinary map that take as much as what one separator stands for. */
const LENGTH_PER_SEPARATOR = 8;
const COMMA = 0x2c;
const SEMICOLON = 0x3b;
/** Maps within maps; more is no map that a tool makes. */
const DEPTH_MAX = 8;

/**
 * The length of an ordinary map that takes as much as this one, which is parsed JSON, whatever it
 * holds. Throws where it has lines that the generated file, with so many, has not: each would be
 * made, filled or not.
 */
export function heldLength(map: unknown, json: string, lineCount: number): number {
  return Math.max(json.length, LENGTH_PER_SEPARATOR * separators(map, lineCount, DEPTH_MAX));
}

function separators(map: unknown, lineCount: number, depth: number): number {
  if (typeof map !== 'object' || map === null) {
    return 0;
  }
  const { mappings, sections } = map as { mappings?: unknown; sections?: unknown };
  if (Array.isArray(sections)) {
    return sections.reduce((sum: number, section) => sum + ofSection(section, lineCount, depth), 0);
  }
  return typeof mappings === 'string' ? count(mappings) : 0;
}

function ofSection(section: unknown, lineCount: number, depth: number): number {
  const { offset, map } = (section ?? {}) as { offset?: { line?: unknown }; map?: unknown };
  const line = Number(offset?.line);
  if (!(line >= 0 && line < lineCount)) {
    throw new Error(`a section begins in line ${line + 1} of ${lineCount}`);
  }
  if (depth === 0) {
    throw new Error('it has maps within maps within maps');
  }
  return separators(map, lineCount - line, depth - 1);
}

function count(mappings: string): number {
  let found = 0;
  for (let at = 0; at < mappings.length; at += 1) {
    const code = mappings.charCodeAt(at);
    found += Number(code === COMMA || code === SEMICOLON);
  }
  return found;
}
