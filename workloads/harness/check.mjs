// Compares an explained request with what was planted in it; pure.
//
// "The path reached the source" proves nothing, so the whole path is checked: the planted hops in
// order with their resource, owner, culprit and times, and that no other waiting is on the path.
// Where the exact moment is known only between two readings of the clock, the truth is that range.

/** What a measured duration may differ from the truth. */
export function toleranceNs(durationNs) {
  return Math.max(0.05 * Math.abs(durationNs), 300_000);
}

function ms(ns) {
  return `${(ns / 1e6).toFixed(3)} ms`;
}

function within(what, actualNs, [lowNs, highNs], failures) {
  const low = lowNs - toleranceNs(lowNs);
  const high = highNs + toleranceNs(highNs);
  if (actualNs >= low && actualNs <= high) return;
  failures.push(`${what}: recorded ${ms(actualNs)}, planted ${ms(lowNs)} to ${ms(highNs)}`);
}

function matches(pattern, text) {
  if (pattern === undefined) return true;
  if (pattern instanceof RegExp) return pattern.test(text ?? '');
  return (text ?? '').includes(pattern);
}

/** Neighbouring segments of one event and one kind are one hop, whatever they are split into. */
export function hops(segments) {
  const list = [];
  for (const segment of segments) {
    const last = list.at(-1);
    const same = last && last.kind === segment.kind && last.event === segment.event;
    if (same) last.segments.push(segment);
    else list.push({ kind: segment.kind, event: segment.event, segments: [segment] });
  }
  for (const hop of list) {
    hop.durationNs = hop.segments.reduce((sum, { durationNs }) => sum + durationNs, 0);
    hop.type = hop.segments[0].type;
    hop.resource = hop.segments.map(({ resource }) => resource).find(Boolean) ?? null;
    hop.shared = hop.segments.some(({ shared }) => shared);
  }
  return list;
}

function kindOf(expectation) {
  return ['io', 'queue', 'exec', 'chain'].find((kind) => kind in expectation);
}

function sum(segments, keep) {
  return segments.filter(keep).reduce((total, { durationNs }) => total + durationNs, 0);
}

/** How long the segments of `kind` last that follow this segment directly, whoever owns them. */
function followingNs(segments, after, kind) {
  let next = after + 1;
  let durationNs = 0;
  for (; segments[next]?.kind === kind; next += 1) durationNs += segments[next].durationNs;
  return { durationNs, last: next - 1 };
}

/**
 * The times of an io hop. `ready` is when whoever was waited for was done. `begin` marks the code
 * that went on: at the earliest when the wait (io and queue) was over, at the latest at the end of
 * the run that follows, for the process may be descheduled before its first line. `atLeastNs` is
 * for a peer that takes so long from a request that the client sends some time after `from`.
 */
function checkIo(name, hop, expectation, truth, failures) {
  const { from, ready, begin, atLeastNs, part, partNs, shared } = expectation;
  if (shared !== undefined && hop.shared !== shared) failures.push(`${name}: shared=${hop.shared}`);
  const { segments } = truth.explained;
  const at = (mark) => moment(truth, mark);
  const queue = followingNs(segments, segments.indexOf(hop.segments.at(-1)), 'queue');
  const waitNs = hop.durationNs + queue.durationNs;
  if (atLeastNs) {
    const ioNs = [atLeastNs, at(begin)[1] - at(from)[0]];
    within(`${name}, io`, hop.durationNs, ioNs, failures);
    within(`${name}, wait to callback`, waitNs, ioNs, failures);
  } else if (begin) {
    const run = followingNs(segments, queue.last, 'exec');
    const marked = [at(begin)[0] - at(from)[1], at(begin)[1] - at(from)[0]];
    const rangeNs = [marked[0] - run.durationNs, marked[1]];
    within(`${name}, wait to callback`, waitNs, rangeNs, failures);
  }
  if (ready) {
    const ioNs = [at(ready)[0] - at(from)[1], at(begin ?? ready)[1] - at(from)[0]];
    within(`${name}, io`, hop.durationNs, ioNs, failures);
  }
  if (part) {
    const recordedNs = sum(hop.segments, (s) => s.part === part);
    within(`${name}, ${part}`, recordedNs, partNs(truth.marks), failures);
  }
}

/** The two marks a moment lies between; a call's lies between `name` and `nameEnd`, its return. */
function moment(truth, mark) {
  const { marks } = truth;
  const pair = Array.isArray(mark) ? mark : [mark, `${mark}End` in marks ? `${mark}End` : mark];
  return pair.map((name) => {
    const atNs = typeof name === 'function' ? name(marks, truth) : marks[name];
    if (!Number.isFinite(atNs)) throw new Error(`nothing was planted under the mark ${name}`);
    return atNs;
  });
}

/** Every culprit must be named with its route and location, and with the time it took. */
function checkCulprits(name, hop, culprits, truth, failures) {
  const blamed = hop.segments.flatMap((segment) => segment.culprits ?? []);
  for (const { route, location, rangeNs } of culprits) {
    const mine = blamed.filter((culprit) => culprit.route === route);
    if (!mine.length) {
      failures.push(`${name}: ${route} is not among the culprits ${JSON.stringify(blamed)}`);
      continue;
    }
    within(
      `${name}, culprit ${route}`,
      sum(mine, () => true),
      rangeNs(truth),
      failures,
    );
    if (location && !mine.some((culprit) => matches(location, culprit.location)))
      failures.push(`${name}: culprit location ${mine[0].location} is not ${location}`);
  }
}

function describe(expectation) {
  const kind = kindOf(expectation);
  return `${kind} ${expectation[kind]}${expectation.resource ? ` ${expectation.resource}` : ''}`;
}

function checkHop(hop, expectation, truth) {
  const failures = [];
  const name = describe(expectation);
  if (hop.kind === 'io') checkIo(name, hop, expectation, truth, failures);
  if (expectation.rangeNs)
    within(`${name}, ${hop.kind}`, hop.durationNs, expectation.rangeNs(truth), failures);
  if (expectation.culprits) checkCulprits(name, hop, expectation.culprits, truth, failures);
  return failures;
}

/** Several hops that are one planted thing: from `first` to the last that fits, and its queue. */
function chainAt(list, first, expectation, truth) {
  let end = first + 1;
  for (let next = end; next < list.length; next += 1) {
    const isLast = list[next].kind === 'queue' && list[next].event === list[next - 1].event;
    if (fits(list[next], expectation, truth.resources) || (isLast && next === end)) end = next + 1;
    else if (list[next].kind === 'io' && list[next].durationNs > toleranceNs(0)) break;
  }
  const used = list.slice(first, end);
  const failures = [];
  const totalNs = sum(used, () => true);
  within(describe(expectation), totalNs, expectation.rangeNs(truth), failures);
  return { failures, used, end };
}

function hopAt(list, index, expectation, truth) {
  if ('chain' in expectation) return chainAt(list, index, expectation, truth);
  const failures = checkHop(list[index], expectation, truth);
  return { failures, used: [list[index]], end: index + 1 };
}

function fits(hop, expectation, resources) {
  const kind = kindOf(expectation);
  const kinds = expectation.kinds ?? (kind === 'chain' ? ['io'] : [kind]);
  if (!kinds.includes(hop.kind) || !matches(expectation[kind], hop.type)) return false;
  const named = resources[expectation.resource];
  return matches(named ?? expectation.resource, hop.resource);
}

/**
 * What was waited for was there before it was asked for: no wait can be on the path. A chain may
 * be missing if it can have been that short: what it waited for may be `earlyNs` before its time.
 */
function wasThere({ io, chain, from, ready, rangeNs, earlyNs = 0 }, truth) {
  if (chain) return rangeNs(truth)[0] <= earlyNs;
  return Boolean(io && ready) && moment(truth, ready)[1] <= moment(truth, from)[0];
}

/** What a hop that is not on the path weighs against times that do not fit. */
const MISSING = Array.from({ length: 9 });

/** The assignment of expectations to hops, in order, with the fewest failures. */
function assign(list, path, truth) {
  const memo = new Map();
  const best = (h, e) => {
    if (e === path.length) return { failures: [], used: [] };
    if (h >= list.length) {
      const awaited = path.slice(e).filter((hop) => !wasThere(hop, truth));
      const missing = awaited.map((hop) => `not on the path: ${describe(hop)}`);
      return { failures: missing.flatMap((text) => MISSING.map(() => text)), used: [] };
    }
    const key = h * path.length + e;
    if (memo.has(key)) return memo.get(key);
    let result = best(h + 1, e);
    if (fits(list[h], path[e], truth.resources)) {
      const here = hopAt(list, h, path[e], truth);
      const rest = best(here.end, e + 1);
      const failures = [...here.failures, ...rest.failures];
      if (failures.length <= result.failures.length)
        result = { failures, used: [...here.used, ...rest.used] };
    }
    memo.set(key, result);
    return result;
  };
  const { failures, used } = best(0, 0);
  return { failures: [...new Set(failures)], used };
}

function checkWhole({ explained, marks }, expectation, failures) {
  const { segments, latencyNs } = explained;
  const totalNs = sum(segments, () => true);
  if (totalNs !== latencyNs) failures.push(`segments sum to ${totalNs}, latency is ${latencyNs}`);
  if (!explained.complete || explained.truncated) failures.push('not complete');
  const inferred = expectation.inferred ?? 0;
  if (explained.inferredHops !== inferred)
    failures.push(`${explained.inferredHops} inferred hops, expected ${inferred}`);
  const unattributedNs = sum(segments, ({ kind }) => kind === 'unattributed');
  if (unattributedNs > 0.01 * latencyNs) failures.push(`unattributed ${ms(unattributedNs)}`);
  // Without a stamp of its arrival, a request is seen no earlier than its connection is polled.
  const arrived = expectation.arrival === 'unstamped' ? marks.begin : marks.handed;
  const latency = [marks.end - arrived, marks.ended - marks.sent];
  within('latency', latencyNs, latency, failures);
}

function checkOrder({ explained }, types, failures) {
  const onPath = explained.events.filter((event) => event.onPath).sort((a, b) => a.id - b.id);
  let next = 0;
  for (const { type } of onPath) if (next < types.length && matches(types[next], type)) next += 1;
  if (next < types.length) {
    const seen = onPath.map(({ type }) => type).join(' > ');
    failures.push(`events on the path are ${seen}, expected ${types.join(' > ')}`);
  }
}

/**
 * What is wrong with one recorded request; empty when it says what was planted.
 * @param {object} explained one request of `explain --json`
 * @param {object} planted its marks, resources, and `all` requests of the run
 * @param {object} expectation the route's entry in `expected.mjs`
 */
export function check(explained, planted, expectation) {
  const truth = { ...planted, explained };
  const failures = [];
  checkWhole(truth, expectation, failures);
  if (expectation.events) checkOrder(truth, expectation.events, failures);
  const { path, route } = expectation;
  if (route && !matches(route, explained.route)) failures.push(`route ${explained.route}`);
  const list = hops(explained.segments);
  const assigned = assign(list, typeof path === 'function' ? path(truth) : path, truth);
  failures.push(...assigned.failures);
  const other = list.filter((hop) => hop.kind === 'io' && !assigned.used.includes(hop));
  for (const hop of other) {
    if (hop.durationNs > toleranceNs(0))
      failures.push(`unplanted io ${hop.type} ${hop.resource}: ${ms(hop.durationNs)}`);
  }
  return failures;
}
