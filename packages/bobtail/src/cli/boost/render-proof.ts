/** What a proof of a boost says, for the terminal: the verdict and what to do first. */
import type { BoostProof } from '../json/boost-proof';
import { comparisonLines, comparisonRow } from '../proof/comparison';
import type { Look } from '../report/render-terminal';
import { plain } from '../text/plain';
import { countOf } from '../text/units';

/** The whole answer. */
export function renderProof(answer: BoostProof, look: Look): string {
  const sections = [headline(answer, look), table(answer, look), notes(answer, look)];
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function headline(
  { interrupted, policy, verdict, reason, rounds }: BoostProof,
  { colors }: Look,
): string[] {
  if (interrupted) return [colors.bold('interrupted: nothing is proved')];
  const said = {
    helped: colors.green('helped'),
    'did-not-help': colors.yellow('did not help'),
    'not-enough-samples': colors.yellow(
      rounds === 0 ? 'cannot be told' : 'not enough samples to tell',
    ),
  }[verdict];
  const advice = {
    helped: 'use it',
    'did-not-help': 'do not use it here: run the service as it is',
    'not-enough-samples':
      rounds === 0
        ? 'nothing was measured'
        : 'do not use it unproved: more or longer rounds, or a lower rate',
  }[verdict];
  return [`${colors.bold(plain(policy))}  ${said}: ${plain(reason)}`, advice];
}

function table({ effect, control, rounds, percentile }: BoostProof, look: Look): string[] {
  if (effect === null || control === null) return [];
  const throughput = comparisonRow('requests/s', effect.requestsPerS, control.requestsPerS, (one) =>
    one.toFixed(0),
  );
  return comparisonLines({ effect, control, rounds, percentile }, [throughput], look);
}

function notes(answer: BoostProof, { colors }: Look): string[] {
  const { isEmulated, energyRelative, arms, seed } = answer;
  const boosts = (arms[1]?.rounds ?? []).reduce((sum, one) => sum + one.boosts, 0);
  const parts = [
    ...(isEmulated
      ? ['EMULATED frequency: no figure of it is one of a real lever', 'unchanged is static:base']
      : ['unchanged has no lever']),
    countOf(boosts, 'boost'),
    ...(energyRelative === null ? [] : [`energy ${energyRelative.toFixed(3)}× (modelled)`]),
    `seed ${seed}`,
  ];
  const failed = arms
    .filter((one) => one.failedRounds > 0)
    .map((one) => `load failed in ${countOf(one.failedRounds, 'round')}: ${plain(one.name)}`);
  const out = arms.flatMap(({ name, out }) =>
    out === null ? [] : [`out: ${plain(name)}: ${plain(out.reason)}`],
  );
  return [...failed, ...out, colors.dim(parts.join(' · '))];
}
