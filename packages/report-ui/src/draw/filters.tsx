/** The filters: route, process, and where the tail begins. They hold for the whole page. */
import { formatDuration } from '../../../bobtail/src/cli/text/units';
import { processName } from '../data/page';
import { isWhole, wholeView } from '../data/view';
import { useLook } from './context';
import { beginning, near } from './text';

const NAME_SHOWN = 60;

/** The row of filters. */
export function Filters() {
  const { page, view, change } = useLook();
  const number = (event: Event): number | null => {
    const { value } = event.currentTarget as HTMLSelectElement;
    return value === '' ? null : Number(value);
  };
  const { route, process, border } = wholeView(page);
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span>route</span>
        <select value={view.route ?? ''} onChange={(event) => change({ route: number(event) })}>
          <option value="">all routes</option>
          {page.routes.map((name, index) =>
            index === 0 && !page.cells.some((cell) => cell.route === 0) ? null : (
              <option key={name} value={index}>
                {beginning(near(name, page.meta.home), NAME_SHOWN)}
              </option>
            ),
          )}
        </select>
      </label>
      {page.processes.length > 1 && (
        <label>
          <span>process</span>
          <select
            value={view.process ?? ''}
            onChange={(event) => change({ process: number(event) })}
          >
            <option value="">all {page.processes.length}</option>
            {page.processes.map((one, index) => (
              <option key={processName(one)} value={index}>
                {processName(one)}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        <span>tail from</span>
        <select
          value={view.border}
          onChange={(event) => change({ border: number(event) ?? border })}
        >
          {page.bands.map(({ percentile, fromNs }, index) => (
            <option key={percentile} value={index}>
              {`p${percentile} · ${formatDuration(fromNs)}`}
            </option>
          ))}
        </select>
      </label>
      {!isWhole(page, view) && (
        <button type="button" onClick={() => change({ route, process, border })}>
          show all
        </button>
      )}
    </form>
  );
}
