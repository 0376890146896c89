/** What came of the gates of `--fail-on`, before everything else: who asks for them wants that. */
import {
  type GateOutcome,
  measuredText,
  type Outcome,
  wantedText,
} from '../../../bobtail/src/gates/outcome';
import { Recorded } from './text';

/** The sign stands beside its word, so that no colour is needed to tell them apart. */
const SIGNS: Readonly<Record<Outcome, string>> = { passed: '✓', missed: '✗', undecided: '?' };
const ORDER: readonly Outcome[] = ['missed', 'undecided', 'passed'];

/** A row for each gate; nothing where none was asked. */
export function Gates({ gates = [] }: { gates?: readonly GateOutcome[] | undefined }) {
  if (gates.length === 0) return null;
  const counts = ORDER.map((outcome) => ({
    outcome,
    count: gates.filter((one) => one.outcome === outcome).length,
  })).filter(({ count }) => count > 0);
  return (
    <section aria-labelledby="gates">
      <h2 id="gates">
        Gates: {counts.map(({ outcome, count }) => `${count} ${outcome}`).join(', ')}
      </h2>
      <table class="gates">
        <caption class="hidden">Each gate, what was wanted and what was measured</caption>
        <thead>
          <tr>
            <th scope="col">outcome</th>
            <th scope="col">metric</th>
            <th scope="col">wanted</th>
            <th scope="col">measured, with 95 % interval</th>
            <th scope="col">
              <span class="hidden">why</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {gates.map((one, index) => (
            <tr key={index} class={one.outcome}>
              <td class="outcome">
                <span aria-hidden="true">{SIGNS[one.outcome]}</span> {one.outcome}
              </td>
              <th scope="row">
                <Recorded text={one.name} />
              </th>
              <td class="wanted">{wantedText(one)}</td>
              <td class="figure">{measuredText(one)}</td>
              <td class="count">
                <Recorded text={one.reason ?? ''} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
