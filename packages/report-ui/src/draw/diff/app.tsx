/** The page of a difference, from the verdict to the limits. */
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import {
  beyondLines,
  headline,
  notes,
  overall,
  sideLine,
} from '../../../../bobtail/src/cli/diff/sentences';
import { formatPercentile } from '../../../../bobtail/src/cli/text/units';
import {
  type DiffPage,
  type DiffView,
  diffFragmentOf,
  diffViewOf,
  wholeDiffView,
} from '../../data/diff-page';
import { Gates } from '../gates';
import { HomeContext, near } from '../text';
import { Curves, SideKey } from './curves';
import { DiffLookContext, useDiffLook } from './look';
import { Causes, Latencies, Routes, Tail } from './sections';
import { DiffTrust } from './trust';

const NAME_SHOWN = 80;

function useDiffView(page: DiffPage): [DiffView, (some: Partial<DiffView>) => void] {
  const [view, setView] = useState(() => diffViewOf(page, location.hash));
  useEffect(() => {
    const follow = (): void => setView(diffViewOf(page, location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, [page]);
  const change = useCallback(
    (some: Partial<DiffView>) =>
      setView((before) => {
        const after = { ...before, ...some };
        const address = diffFragmentOf(page, after) || location.href.replace(/#.*/s, '');
        history.pushState(null, '', address);
        return after;
      }),
    [page],
  );
  return [view, change];
}

/** See the module. */
export function DiffApp({ page }: { page: DiffPage }) {
  const [view, change] = useDiffView(page);
  const look = useMemo(() => ({ page, view, change }), [page, view, change]);
  const { diff, meta } = page;
  return (
    <DiffLookContext.Provider value={look}>
      <HomeContext.Provider value={meta.home}>
        <header>
          <p class="brand">
            bobtail <span>diff</span>
          </p>
          <h1>{headline(diff)}</h1>
          {beyondLines(diff).map((line) => (
            <p class="beyond" key={line}>
              {line}
            </p>
          ))}
          {(['a', 'b'] as const).map((side, index) => (
            <p class="percentiles" key={side}>
              <SideKey side={side} />{' '}
              {sideLine(side === 'a' ? 'A' : 'B', diff, meta.folders[index] ?? '')}
            </p>
          ))}
          {notes(diff).map((note) => (
            <p class="note" key={note}>
              {note}
            </p>
          ))}
        </header>
        <DiffFilters />
        <main>
          <Gates gates={diff.gates} />
          <div class="first">
            <section aria-labelledby="latency">
              <h2 id="latency">How slow, before and after</h2>
              <Curves />
            </section>
            <section aria-labelledby="figures">
              <h2 id="figures">What moved</h2>
              <Latencies />
            </section>
          </div>
          <Routes />
          <Causes />
          <Tail />
          <DiffTrust />
        </main>
      </HomeContext.Provider>
    </DiffLookContext.Provider>
  );
}

function DiffFilters() {
  const { page, view, change } = useDiffLook();
  const { diff, meta } = page;
  const number = (event: Event): number => Number((event.currentTarget as HTMLSelectElement).value);
  const whole = wholeDiffView(page);
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span>route</span>
        <select value={view.route} onChange={(event) => change({ route: number(event) })}>
          {diff.routes.map(({ route }, index) => (
            <option key={route} value={index}>
              {index === whole.route ? 'all routes' : near(route, meta.home).slice(0, NAME_SHOWN)}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>routes and causes at</span>
        <select value={view.at} onChange={(event) => change({ at: number(event) })}>
          {overall(diff).percentiles.map(({ percentile }) => (
            <option key={percentile} value={percentile}>
              {formatPercentile(percentile)}
            </option>
          ))}
        </select>
      </label>
      {(view.route !== whole.route || view.at !== whole.at) && (
        <button type="button" onClick={() => change(whole)}>
          show all
        </button>
      )}
    </form>
  );
}
