/** What the loop thread did during queue and exec, tail against rest (the paper's table 4). */
import type { TimeSpent } from '../../../bobtail/src/cli/json/report';
import { isNotAskedFor } from '../../../bobtail/src/cli/report/sentences';
import { WORK_CLASSES, type WorkClass } from '../../../bobtail/src/cli/report/work-tables';
import { formatDuration, formatFineShare } from '../../../bobtail/src/cli/text/units';
import { cellsOf, split } from '../data/sums';
import { Bar } from './bars';
import { useLook } from './context';

/** The table with its bars. */
export function WorkTable() {
  const { page, view } = useLook();
  const { tail, rest } = split(page, cellsOf(page, view), view);
  const asked = WORK_CLASSES.filter(
    ({ option }) => option === undefined || !isNotAskedFor(page.report, option),
  );
  return (
    <table class="work">
      <caption class="hidden">Share of each kind of work in queue and exec time</caption>
      <thead>
        <tr>
          <th scope="col">the loop thread was at</th>
          <th scope="col">tail</th>
          <th scope="col">rest</th>
        </tr>
      </thead>
      <tbody>
        {asked.map((work) => (
          <tr key={work.key}>
            <th scope="row">
              {work.words.split(': ')[0]} <span class="count">{work.words.split(': ')[1]}</span>
            </th>
            <WorkCell row={tail} work={work} />
            <WorkCell row={rest} work={work} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function WorkCell({ row, work }: { row: TimeSpent | undefined; work: WorkClass }) {
  const partNs = row?.work[work.key] ?? null;
  if (row === undefined || partNs === null) {
    return <td class="none">{row === undefined ? 'no request' : 'not measured'}</td>;
  }
  const whole = row.queueNs + row.execNs;
  return (
    <td class="with-bar">
      <Bar share={whole === 0 ? 0 : partNs / whole} kind={`work-${work.key.slice(0, -2)}`} />
      <span class="figure">{formatFineShare(partNs, whole)}</span>{' '}
      <span class="count">{formatDuration(partNs)}</span>
    </td>
  );
}
