/**
 * Outcomes of gates as JUnit XML, the format that CI services show as tests.
 *
 * A gate that cannot be decided is an error and not skipped, since services count skipped tests as
 * good. The format as Jenkins and GitLab read it: https://github.com/testmoapp/junitxml.
 */
import { plain } from '../cli/text/plain';
import { type GateOutcome, sentenceOf } from './outcome';

/** A whole document; `suite` says what was gated. */
export function renderJunit(suite: string, outcomes: readonly GateOutcome[]): string {
  const count = (outcome: GateOutcome['outcome']): number =>
    outcomes.filter((one) => one.outcome === outcome).length;
  const totals =
    `tests="${outcomes.length}" failures="${count('missed')}" ` +
    `errors="${count('undecided')}" time="0"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="bobtail" ${totals}>`,
    `  <testsuite name="${attribute(suite)}" ${totals}>`,
    ...outcomes.map((one) => testCase(suite, one)),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase(suite: string, one: GateOutcome): string {
  const names = `classname="${attribute(suite)}" name="${attribute(one.gate)}"`;
  const head = `    <testcase ${names} time="0"`;
  const sentence = attribute(sentenceOf(one));
  switch (one.outcome) {
    case 'passed':
      return `${head}>\n      <system-out>${sentence}</system-out>\n    </testcase>`;
    case 'missed':
      return `${head}>\n      <failure type="missed" message="${sentence}"/>\n    </testcase>`;
    case 'undecided':
      return `${head}>\n      <error type="undecided" message="${sentence}"/>\n    </testcase>`;
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** Text of a route may hold anything; what XML cannot hold, even escaped, becomes `?`. */
function attribute(text: string): string {
  return plain(text)
    .replace(/[\p{Surrogate}\uFFFE\uFFFF]/gu, '?')
    .replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '?');
}
