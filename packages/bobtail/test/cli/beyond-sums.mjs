/**
 * Adds up what a difference tells of the requests beyond a percentile, from its text: the parts
 * named on a line against the sum named on it, and that against the figures of the JSON.
 */
import assert from 'node:assert/strict';

const KINDS = ['io', 'queue', 'exec', 'unattributed'];
const CLASSES = ['native', 'gc', 'jit', 'ic', 'loop', 'not running', 'the rest'];
const UNITS_NS = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };
const PART = /^(.+) ([+−])(\d+(\.\d+)?) (ns|µs|ms|s)( \(within noise\))?$/;
const KINDS_LINE = /^The mean beyond (p[\d.]+) (changed by [^:]+): (.+)\.$/;
const CLASSES_LINE = /^(Queue and exec together) (changed by [^:]+), by class of work: (.+)\.$/;
/** Five figures, each rounded to whole nanoseconds. */
const WHOLE_NS = 5;

/** A printed change, and by how much its rounding may be off. */
function figureOf(text) {
  const [, name, sign, digits, decimals = '.', unit] = text.match(PART) ?? assert.fail(text);
  const valueNs = Number(digits) * UNITS_NS[unit] * (sign === '−' ? -1 : 1);
  return { name, valueNs, offNs: (UNITS_NS[unit] / 10 ** (decimals.length - 1)) * 0.5 };
}

function assertSum(line, known, jsonNs) {
  const [, , whole, list] = line;
  const parts = list.split(', ').map(figureOf);
  for (const { name } of parts) {
    assert.ok(known.includes(name), line[0]);
  }
  assert.equal(new Set(parts.map(({ name }) => name)).size, parts.length, line[0]);
  const told = whole.startsWith('changed by 0') ? { valueNs: 0, offNs: 0 } : figureOf(whole);
  const sumNs = parts.reduce((sum, { valueNs }) => sum + valueNs, 0);
  const offNs = parts.reduce((sum, one) => sum + one.offNs, told.offNs) + WHOLE_NS;
  assert.ok(Math.abs(sumNs - told.valueNs) <= offNs, `${line[0]} (sum ${sumNs} ns)`);
  assert.ok(Math.abs(jsonNs - told.valueNs) <= told.offNs + WHOLE_NS, `${line[0]} (${jsonNs} ns)`);
}

/** Checks the lines in a rendered difference and gives them back. */
export function assertBeyondAddsUp(diff, text) {
  const all = diff.routes.find(({ route }) => route === '*');
  const first = all.percentiles.find(({ latency }) => ['more', 'less'].includes(latency.verdict));
  const deltaNs = (name) => first.causes.find(({ cause }) => cause === name)?.deltaNs ?? 0;
  const lines = text.split('\n').filter((line) => /^(The mean beyond|Queue and exec)/.test(line));
  for (const line of lines) {
    const kinds = line.match(KINDS_LINE);
    if (kinds !== null) {
      assert.equal(kinds[1], `p${first.percentile}`);
      assertSum(kinds, KINDS, first.beyond.deltaNs);
      continue;
    }
    const classes = line.match(CLASSES_LINE) ?? assert.fail(line);
    assertSum(classes, CLASSES, deltaNs('queue') + deltaNs('exec'));
  }
  return lines;
}

/** For each percentile of each route, the difference as if that had been what moved. */
export function forcedMoves(diff) {
  return diff.routes.flatMap((route) =>
    route.percentiles
      .filter(({ causes }) => causes.length > 0)
      .map((one) => {
        const latency = { ...one.latency, verdict: 'more' };
        return { ...diff, routes: [{ ...route, route: '*', percentiles: [{ ...one, latency }] }] };
      }),
  );
}
