/** `bobtail export`: a recording as a file of another tool. */
import { analyzeExport, type ExportSelection } from '../analysis';
import { StatusLine, tell } from '../console';
import { shownPath } from '../text/paths';
import { plainNear } from '../text/recorded-text';
import { FORMATS, type FormatName } from './formats';
import { writeWhole } from './output-file';
import { writeParquet } from './parquet';

/** What the user asked for. */
export interface ExportRequest {
  readonly folder: string;
  readonly format: FormatName;
  readonly out: string;
  readonly selection: ExportSelection;
  readonly quiet: boolean;
}

/** What was written. */
export interface Exported {
  /** Requests in it. */
  readonly requests: number;
  /** Records lost while recording, by kind: what was exported has gaps. */
  readonly losses: Readonly<Record<string, number>>;
  /** Source maps that cannot be read, and files that changed since. */
  readonly notes: readonly string[];
}

/** Writes the file, whole or not at all. Rejects with a `Failure`. */
export async function exportRecording(
  folder: string,
  format: FormatName,
  out: string,
  selection: ExportSelection = {},
): Promise<Exported> {
  const { kind, addonFormat } = FORMATS[format];
  const addon = addonFormat(out);
  return writeWhole(out, kind, (path) =>
    addon === undefined
      ? writeParquet(folder, path, { out, ...selection })
      : analyzeExport(folder, { format: addon, file: path, out, ...selection }),
  );
}

/** Exports and says on stderr what was written. */
export async function runExport(request: ExportRequest): Promise<void> {
  const { folder, format, out, selection, quiet } = request;
  const status = new StatusLine(quiet);
  status.show(`bobtail: reading ${shownPath(folder)}`);
  const exported = await exportRecording(folder, format, out, selection).finally(() =>
    status.clear(),
  );
  if (!quiet) {
    tell(summary(exported, out));
    for (const note of exported.notes) {
      tell(`bobtail: ${plainNear(note)}`);
    }
  }
}

function summary({ requests, losses }: Exported, out: string): string {
  const count = `${requests.toLocaleString('en')} request${requests === 1 ? '' : 's'}`;
  const lost = Object.values(losses).reduce((sum, one) => sum + one, 0);
  const gaps = lost === 0 ? '' : ` · ${lost.toLocaleString('en')} records were lost, it has gaps`;
  return `bobtail: ${count} in ${shownPath(out)}${gaps}`;
}
