/** The page of a what-if, from the best scheme to what the figures rest on. */
import type { Outcome, WhatIf } from '../../../../bobtail/src/cli/json/what-if';
import {
  countOf,
  formatDuration,
  formatInterval,
  formatPercentile,
} from '../../../../bobtail/src/cli/text/units';
import {
  aimTexts,
  changeIntervalText,
  gainText,
  headline,
  INTERVALS,
  loopText,
  methodLine,
  moreText,
  predictedOf,
  saturationText,
  untoldText,
} from '../../../../bobtail/src/cli/whatif/sentences';
import type { WhatIfPage } from '../../data/what-if-page';
import { HomeContext, Recorded } from '../text';
import { Plane } from './plane';

const COMPONENTS_SHOWN = 20;

/** See the module. */
export function WhatIfApp({ page }: { page: WhatIfPage }) {
  const { answer, meta } = page;
  const more = moreText(COMPONENTS_SHOWN, answer);
  return (
    <HomeContext.Provider value={meta.home}>
      <header>
        <p class="brand">
          bobtail <span>what if</span>
        </p>
        <h1>
          <Recorded text={headline(answer)} />
        </h1>
        <p class="percentiles">
          <Recorded text={meta.folders[0] ?? ''} />: {countOf(answer.requests, 'request')}, recorded{' '}
          {answer.run.startedAt}
        </p>
        {answer.notes.map((note) => (
          <p class="note" key={note}>
            <Recorded text={note} />
          </p>
        ))}
      </header>
      <main>
        {answer.frontier !== null && (
          <Plane frontier={answer.frontier} scenarios={answer.scenarios} />
        )}
        <section aria-labelledby="scenarios">
          <h2 id="scenarios">Predicted latencies</h2>
          <Scenarios answer={answer} />
        </section>
        <section aria-labelledby="sensitivity">
          <h2 id="sensitivity">
            Which 10 % buys most of {formatPercentile(answer.percentiles[0] ?? 0)}
          </h2>
          <Sensitivities answer={answer} />
          {more !== undefined && <p class="note">{more}</p>}
        </section>
        <section aria-labelledby="rests">
          <h2 id="rests">What this rests on</h2>
          <p>{methodLine(answer)}</p>
          <p>{INTERVALS}</p>
        </section>
      </main>
    </HomeContext.Provider>
  );
}

function Scenarios({ answer }: { answer: WhatIf }) {
  const { percentiles } = answer;
  const isDriven = answer.scenarios.some(({ policy }) => policy !== null);
  return (
    <table class="predicted">
      <thead>
        <tr>
          <th scope="col">scenario</th>
          {percentiles.map((percentile) => (
            <th scope="col" class="number" key={percentile}>
              {formatPercentile(percentile)}
            </th>
          ))}
          <th scope="col" class="number">
            loop busy
          </th>
          {isDriven && (
            <th scope="col" class="number">
              modelled energy
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {[answer.unchanged, ...answer.scenarios].map((one, index) => (
          <tr key={`${index} ${one.name}`}>
            <th scope="row">
              <Recorded text={one.name} />
              {[saturationText(one), untoldText(one, answer), ...aimTexts(one)].map(
                (text) =>
                  text !== undefined && (
                    <span class="count aim" key={text}>
                      <Recorded text={text} />
                    </span>
                  ),
              )}
            </th>
            {percentiles.map((percentile) => (
              <td class="number" key={percentile} data-label={formatPercentile(percentile)}>
                <Figure one={one} percentile={percentile} isBase={index === 0} />
              </td>
            ))}
            <td class="number" data-label="loop busy">
              {loopText(one)}
            </td>
            {isDriven && (
              <td class="number" data-label="modelled energy">
                {one.policy !== null && `${one.policy.energy.toFixed(3)}×`}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface FigureProps {
  readonly one: Outcome;
  readonly percentile: number;
  readonly isBase: boolean;
}

function Figure({ one, percentile, isBase }: FigureProps) {
  const told = predictedOf(one, percentile);
  if (told === undefined) return <>{one.saturated === null ? '–' : 'saturated'}</>;
  return (
    <>
      {isBase
        ? formatInterval(told.latencyNs, told.intervalNs ?? undefined)
        : formatDuration(told.latencyNs)}
      {!isBase && <span class="count"> {changeIntervalText(told)}</span>}
    </>
  );
}

function Sensitivities({ answer }: { answer: WhatIf }) {
  return (
    <table class="predicted">
      <thead>
        <tr>
          <th scope="col">10 % less of</th>
          <th scope="col" class="number">
            makes it shorter by
          </th>
          <th scope="col" class="number">
            of so much in all
          </th>
        </tr>
      </thead>
      <tbody>
        {answer.sensitivity.slice(0, COMPONENTS_SHOWN).map((one) => (
          <tr key={one.component}>
            <th scope="row">
              <Recorded text={one.component} />
            </th>
            <td class="number" data-label="shorter by">
              {gainText(one)}
            </td>
            <td class="number" data-label="in all">
              {formatDuration(one.totalNs)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
