/** The answer of `tune`: what is recommended, what never is, and what the terminal shows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createColors } from 'picocolors';
import { answerOf } from '../../dist/cli/tune/answer.js';
import { renderTuning } from '../../dist/cli/tune/render-tuning.js';
import { CONTROL, UNCHANGED } from '../../dist/prove/arm.js';
import { flagArm } from '../../dist/tune/flag-arm.js';
import { assertValid } from '../cli/schemas.mjs';
import { randomOf, roundsOf } from './simulated.mjs';

const FLAGS = ['--max-semi-space-size=32'];
const OPTIONS = {
  subject: { command: ['node', 'server.js'], onPort: 'load $PORT', warmupNs: 0 },
  budget: { bytes: 512 * 2 ** 20, source: 'cgroup-v2' },
  rounds: 8,
  proofRounds: 8,
  objective: 'tail',
  seed: 4,
  tries: [],
};
const RATIO = { a: 40e6, b: 20e6, ratio: 0.5, low: 0.4, high: 0.6, lack: null };

/** What `tune` gives, with a proof of this verdict. */
function tuned(verdict) {
  const random = randomOf(1);
  const samples = (factor, rounds) => roundsOf(random, factor, rounds, 1000);
  const ratios = (tail, memory) => ({ tail, cpu: 1, throughput: 1, memory });
  const arm = (name, flags, tail, memory, out) => ({
    ...{ name, flags, out, samples: samples(tail, 5), peakRssBytes: memory * 100 * 2 ** 20 },
    ratios: ratios(tail, memory),
  });
  const choice = flagArm(FLAGS);
  const comparison = {
    percentiles: [{ percentile: 99, ...RATIO }],
    cpuNsPerRequest: RATIO,
    requestsPerS: { ...RATIO, a: 400, b: 400, ratio: 1 },
    peakRssBytes: { ...RATIO, a: 1e8, b: 2e8, ratio: 2 },
  };
  const control = {
    ...comparison,
    percentiles: [{ percentile: 99, ...RATIO, b: 41e6, ratio: 1.02, low: 0.9, high: 1.1 }],
  };
  const records = [UNCHANGED, choice, CONTROL].map((one) => ({
    arm: one,
    samples: samples(1, 8),
    failedRounds: [],
  }));
  return {
    interrupted: false,
    calibration: {
      sample: samples(1, 1)[0],
      runMs: 1000,
      percentile: 99,
      node: '/opt/node',
      version: 'v24.1.0',
    },
    stages: [
      {
        name: 'single',
        arms: [
          arm('unchanged', [], 1, 1),
          arm('A/A', [], 1.02, 1),
          arm(choice.name, FLAGS, 0.5, 2),
          arm('--optimize-for-size', ['--optimize-for-size'], 2, 0.7, { of: 'race', reason: 'x' }),
          arm('--dies', ['--dies'], 0.1, 0.1, { of: 'service', reason: 'it died: \x1b[31mFATAL' }),
          arm('--worse', ['--worse'], 2, 2),
        ],
      },
    ],
    choice,
    inNodeOptions: true,
    proof: {
      ...{ change: choice.name, rounds: 8, interrupted: false, verdict, percentile: 99 },
      ...{ reason: 'a reason', effect: comparison, control, records },
    },
  };
}

const look = { colors: createColors(false), width: 140 };

test('what helped is recommended, with the line to use', () => {
  const answer = answerOf(tuned('helped'), OPTIONS);
  assertValid('tune', answer);
  assert.deepEqual(answer.recommendation, {
    flags: FLAGS,
    nodeOptions: '--max-semi-space-size=32',
    command: ['node', '--max-semi-space-size=32', 'server.js'],
  });
  const text = renderTuning(answer, look);
  assert.match(text, /^--max-semi-space-size=32 {2}helped: a reason\n/);
  assert.match(text, /NODE_OPTIONS="--max-semi-space-size=32"/);
  assert.match(text, /p99 \(judged\) +40\.0 ms +20\.0 ms +×0\.50 \[0\.40–0\.60\] +×1\.02/);
  assert.match(text, /--dies: it died: \?\[31mFATAL/);
  assert.ok(!text.includes('\x1b'), 'no escape sequence of the service reaches the terminal');
});

test('a machine that hides changes is told', () => {
  const noisy = tuned('did-not-help');
  const [judged] = noisy.proof.control.percentiles;
  const shown = (low, high) => {
    noisy.proof.control.percentiles = [{ ...judged, low, high }];
    return renderTuning(answerOf(noisy, OPTIONS), look);
  };
  assert.match(shown(0.41, 3.07), /noisy: .* by ×0\.41 to ×3\.07/);
  assert.ok(!shown(0.9, 1.1).includes('noisy'));
});

for (const verdict of ['did-not-help', 'not-enough-samples']) {
  test(`what is ${verdict} is not recommended`, () => {
    const answer = answerOf(tuned(verdict), OPTIONS);
    assertValid('tune', answer);
    assert.equal(answer.recommendation, null);
    const text = renderTuning(answer, look);
    assert.match(text, /recommended: leave the flags as they are/);
    assert.ok(!text.includes('NODE_OPTIONS='));
  });
}

test('what was interrupted in its proof recommends nothing, and does not say what to leave', () => {
  const answer = answerOf({ ...tuned('not-enough-samples'), interrupted: true }, OPTIONS);
  assertValid('tune', answer);
  assert.equal(answer.recommendation, null);
  const text = renderTuning(answer, look);
  assert.match(text, /^interrupted: nothing is recommended/);
  assert.ok(!/recommended: leave|^use /m.test(text), text);
});

test('the Pareto set keeps who lost the race for the tail, not who cannot run', () => {
  const { pareto } = answerOf(tuned('helped'), OPTIONS);
  const names = pareto.map(({ name }) => name);
  assert.deepEqual(names, ['unchanged', FLAGS[0], '--optimize-for-size']);
  assert.ok(
    pareto.every(({ energy, cpu }) => energy === cpu),
    'energy is modelled',
  );
});

test('without a choice, or interrupted, there is nothing to use', () => {
  const nothing = { ...tuned('helped'), choice: undefined, proof: undefined };
  const answer = answerOf(nothing, OPTIONS);
  assertValid('tune', answer);
  assert.equal(answer.proof, null);
  assert.match(renderTuning(answer, look), /nothing that was tried was faster/);
  const early = { ...nothing, interrupted: true, calibration: undefined, stages: [] };
  const cut = answerOf(early, OPTIONS);
  assertValid('tune', cut);
  assert.match(renderTuning(cut, look), /^interrupted: nothing is recommended/);
  assert.ok(!renderTuning(cut, look).includes('faster'));
});
