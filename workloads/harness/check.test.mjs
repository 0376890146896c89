// The harness must be able to fail: an explanation that is wrong in one thing is found out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from './check.mjs';

const MS = 1e6;

const marks = {
  sent: -0.1 * MS,
  handed: 0,
  begin: 0.2 * MS,
  read: 0.5 * MS,
  written: 40.5 * MS,
  done: 40.7 * MS,
  end: 41 * MS,
  ended: 41.1 * MS,
};
const planted = { marks, resources: { file: 'invoice.dat' } };
const expectation = {
  route: 'GET /slow',
  path: [{ io: 'pool', resource: 'file', from: 'read', ready: 'written', begin: 'done' }],
};

function segment(kind, event, type, durationNs, more) {
  return { kind, event, type, durationNs, resource: null, shared: false, part: null, ...more };
}

function explained(more = {}) {
  return {
    route: 'GET /slow',
    latencyNs: 41 * MS,
    complete: true,
    truncated: false,
    inferredHops: 0,
    events: [],
    segments: [
      segment('queue', 1, 'read', 0.2 * MS, { culprits: [] }),
      segment('exec', 1, 'read', 0.3 * MS),
      segment('io', 2, 'pool', 1 * MS, { resource: 'invoice.dat', part: 'pool-wait' }),
      segment('io', 2, 'pool', 39 * MS, { resource: 'invoice.dat', part: 'pool-run' }),
      segment('queue', 2, 'pool', 0.2 * MS, { culprits: [] }),
      segment('exec', 2, 'pool', 0.3 * MS),
    ],
    ...more,
  };
}

function changed(change) {
  const copy = explained();
  change(copy);
  return copy;
}

test('a chain may be missing only where it can have been that short', () => {
  const missing = (lowNs) => {
    const late = { chain: 'timer', earlyNs: MS, rangeNs: () => [lowNs, 9 * MS] };
    return check(explained(), planted, { ...expectation, path: [...expectation.path, late] });
  };
  assert.deepEqual(missing(MS), []);
  assert.deepEqual(missing(MS + 1), ['not on the path: chain timer']);
});

test('a right explanation passes', () => {
  assert.deepEqual(check(explained(), planted, expectation), []);
});

const wrong = {
  'a latency that is not the sum': (e) => {
    e.latencyNs += 1;
  },
  'another route': (e) => {
    e.route = 'GET /other';
  },
  'a hop of another type': (e) => {
    for (const s of e.segments.slice(2, 4)) s.type = 'timer';
  },
  'another resource': (e) => {
    for (const s of e.segments.slice(2, 4)) s.resource = 'other.dat';
  },
  'a wait that is 6 % too short': (e) => {
    e.segments[3].durationNs -= 2.4 * MS;
    e.segments[1].durationNs += 2.4 * MS;
  },
  'a wait on something else': (e) => {
    e.segments.splice(4, 0, segment('io', 9, 'timer', 0.5 * MS));
    e.segments[3].durationNs -= 0.5 * MS;
  },
  'time without a cause': (e) => {
    e.segments[3].kind = 'unattributed';
  },
  'an inferred hop': (e) => {
    e.inferredHops = 1;
  },
  'a truncated history': (e) => {
    e.truncated = true;
  },
};

for (const [what, change] of Object.entries(wrong)) {
  test(`${what} fails`, () => {
    assert.notDeepEqual(check(changed(change), planted, expectation), []);
  });
}

test('a culprit must be the planted one, for the planted time', () => {
  const culprits = [{ route: 'GET /hog', location: null, durationNs: 30 * MS }];
  const queue = segment('queue', 1, 'read', 30 * MS, { culprits });
  const segments = [queue, segment('exec', 1, 'read', 11 * MS)];
  const hogged = explained({ segments });
  const blame = (route, ns) => ({
    route: 'GET /slow',
    path: [{ queue: 'read', culprits: [{ route, rangeNs: () => [ns, ns] }] }],
  });
  assert.deepEqual(check(hogged, planted, blame('GET /hog', 30 * MS)), []);
  assert.equal(check(hogged, planted, blame('GET /hog', 20 * MS)).length, 1);
  assert.equal(check(hogged, planted, blame('GET /other', 30 * MS)).length, 1);
});

test('a wait may be missing only if it was over before it began', () => {
  const whole = segment('exec', 1, 'read', 41 * MS);
  const without = explained({ segments: [whole] });
  const at = (written) => ({ ...planted, marks: { ...marks, written } });
  assert.deepEqual(check(without, at(marks.read), expectation), []);
  assert.deepEqual(check(without, at(marks.read + 1), expectation), [
    'not on the path: io pool file',
  ]);
});

test('hops must come in the planted order', () => {
  const [queue, exec, , run] = explained().segments;
  const timer = segment('io', 5, 'timer', 1 * MS);
  const both = explained({ segments: [queue, exec, timer, { ...run, durationNs: 39.5 * MS }] });
  const path = [{ io: 'timer' }, { io: 'pool', resource: 'file' }];
  assert.deepEqual(check(both, planted, { path }), []);
  assert.match(check(both, planted, { path: path.toReversed() })[0], /not on the path/);
});
