/**
 * Tables as Parquet files: a row group for each piece of rows that the analysis hands on.
 *
 * In JavaScript, since the Rust library for it would double the time of a build, and since the
 * columns come by pieces there is never more than one in memory.
 */
import { join } from 'node:path';
import { type RowOptions, readRows } from '../analysis';
import { writeFailure } from '../failure';
import type { Exported } from './export';
import { importModule } from './import-module';
import { type ColumnType, TABLES, type TableName } from './tables';

/** What is used of the library. */
interface ParquetModule {
  fileWriter(path: string): object;
  ParquetWriter: new (options: {
    writer: object;
    schema: readonly object[];
    createdBy: string;
  }) => ParquetFile;
}

interface ParquetFile {
  write(options: { columnData: readonly object[]; rowGroupSize: number }): void | Promise<void>;
  finish(): void | Promise<void>;
}

/** Writes a file per table into `folder`, which errors call `out`. Rejects with a `Failure`. */
export async function writeParquet(
  recording: string,
  folder: string,
  options: RowOptions,
): Promise<Exported> {
  const library = (await importModule('hyparquet-writer')) as ParquetModule;
  const files = new Map<TableName, ParquetFile>();
  for (const name of Object.keys(TABLES) as TableName[]) {
    files.set(name, await writing(options.out, () => open(library, folder, name)));
  }
  const exported = await readRows(recording, options, async ({ table, columns }) => {
    const columnData = Object.entries(TABLES[table]).map(([name, type]) => ({
      name,
      data: (columns[name] ?? []).map(cellOf(type)),
    }));
    const rowGroupSize = columnData[0]?.data.length ?? 0;
    await writing(options.out, () => files.get(table)?.write({ columnData, rowGroupSize }));
  });
  for (const file of files.values()) {
    await writing(options.out, () => file.finish());
  }
  return exported;
}

function open(library: ParquetModule, folder: string, name: TableName): ParquetFile {
  const columns = Object.entries(TABLES[name]);
  const schema = [
    { name: 'root', num_children: columns.length },
    ...columns.map(([column, type]) => ({ name: column, ...elementOf(type) })),
  ];
  const writer = library.fileWriter(join(folder, `${name}.parquet`));
  return new library.ParquetWriter({ writer, schema, createdBy: 'bobtail' });
}

/** A column in the words of Parquet. */
function elementOf(type: ColumnType): object {
  const repetition_type = type.endsWith('?') ? 'OPTIONAL' : 'REQUIRED';
  switch (type) {
    case 'int32':
      return { type: 'INT32', repetition_type };
    case 'int64':
    case 'int64?':
      return { type: 'INT64', repetition_type };
    case 'flag':
      return { type: 'BOOLEAN', repetition_type };
    case 'text':
    case 'text?':
      return { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type };
  }
}

/** What the library takes for a value of the analysis. */
function cellOf(type: ColumnType): (value: unknown) => unknown {
  return type.startsWith('int64')
    ? (value) => (value === null ? undefined : BigInt(value as number | string))
    : (value) => value ?? undefined;
}

/** Calls what writes; its system errors are failures of the output. */
async function writing<T>(out: string, write: () => T | Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    throw writeFailure(error, out);
  }
}
