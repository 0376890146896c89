/** The whole page, from the verdict to the limits. */
import { useCallback, useEffect, useMemo, useState } from 'preact/hooks';
import { headline, noteLines, percentilesLine } from '../../../bobtail/src/cli/report/sentences';
import type { Page } from '../data/page';
import { fragmentOf, type View, viewOf } from '../data/view';
import { Advice, Culprits, Waits } from './causes';
import { Cdf } from './cdf';
import { Processes, Routes } from './composition';
import { LookContext } from './context';
import { Filters } from './filters';
import { Gates } from './gates';
import { Pauses } from './pauses';
import { Requests } from './requests';
import { HomeContext, near } from './text';
import { Trust } from './trust';
import { WorkTable } from './work';

function useView(page: Page): [View, (some: Partial<View>, replace?: boolean) => void] {
  const [view, setView] = useState(() => viewOf(page, location.hash));
  useEffect(() => {
    const follow = (): void => setView(viewOf(page, location.hash));
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, [page]);
  const change = useCallback(
    (some: Partial<View>, replace = false) =>
      setView((before) => {
        const after = { ...before, ...some };
        const address = fragmentOf(page, after) || location.href.replace(/#.*/s, '');
        // A file that is open from disk may not push, but its fragment may be set.
        if (replace) history.replaceState(null, '', address);
        else history.pushState(null, '', address);
        return after;
      }),
    [page],
  );
  return [view, change];
}

/** See the module. */
export function App({ page }: { page: Page }) {
  const [view, change] = useView(page);
  const look = useMemo(() => ({ page, view, change }), [page, view, change]);
  const { report, meta } = page;
  return (
    <LookContext.Provider value={look}>
      <HomeContext.Provider value={meta.home}>
        <header>
          <p class="brand">
            bobtail <span>{near(report.run.command.join(' '), meta.home)}</span>
          </p>
          <h1>{headline(report)}</h1>
          <p class="percentiles">{percentilesLine(report)}</p>
          {noteLines(report).map((note) => (
            <p class="note" key={note}>
              {note}
            </p>
          ))}
        </header>
        <Filters />
        <main>
          <Gates gates={report.gates} />
          <div class="first">
            <section aria-labelledby="latency">
              <h2 id="latency">How slow</h2>
              <Cdf />
            </section>
            <section aria-labelledby="made-of">
              <h2 id="made-of">What the tail is made of</h2>
              <Routes />
            </section>
          </div>
          <Advice />
          <section aria-labelledby="work">
            <h2 id="work">What the loop thread did while they queued and ran</h2>
            <WorkTable />
          </section>
          <Culprits />
          <Waits />
          <Pauses />
          <Processes />
          <Requests />
          <Trust />
        </main>
      </HomeContext.Provider>
    </LookContext.Provider>
  );
}
