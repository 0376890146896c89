/**
 * The tables of `bobtail export --format parquet` and their columns (`spec/tables.md`).
 *
 * Written out here although the analysis sends names with its rows, because a table without rows
 * must have its columns, too.
 */

/** A column: its type, with `?` where a value may be missing. */
export type ColumnType = 'int32' | 'int64' | 'text' | 'flag' | 'int64?' | 'text?';

const WORK = {
  native_ns: 'int64?',
  gc_ns: 'int64?',
  jit_ns: 'int64?',
  ic_ns: 'int64?',
  loop_ns: 'int64?',
  not_running_ns: 'int64?',
} as const;

/** Columns by table, in order. */
export const TABLES = {
  requests: {
    request: 'text',
    pid: 'int32',
    thread: 'int32',
    route: 'text?',
    name: 'text?',
    status: 'int32',
    start_unix_ns: 'int64',
    start_ns: 'int64',
    latency_ns: 'int64',
    io_ns: 'int64',
    queue_ns: 'int64',
    exec_ns: 'int64',
    unattributed_ns: 'int64',
    ...WORK,
    tail: 'flag',
    complete: 'flag',
    inferred_hops: 'int32',
  },
  segments: {
    request: 'text',
    segment: 'int32',
    kind: 'text',
    start_ns: 'int64',
    duration_ns: 'int64',
    event: 'int64',
    event_type: 'text',
    resource: 'text?',
    part: 'text?',
    exact: 'flag',
    inferred: 'flag',
    shared: 'flag',
    ...WORK,
  },
  culprits: {
    request: 'text',
    segment: 'int32',
    type: 'text',
    duration_ns: 'int64',
    event: 'int64?',
    culprit_request: 'text?',
    route: 'text?',
    location: 'text?',
    collection: 'int64?',
  },
  gc: {
    pid: 'int32',
    thread: 'int32',
    collection: 'int64',
    kind: 'text',
    start_ns: 'int64',
    duration_ns: 'int64',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, ColumnType>>>>;

/** Name of a table. */
export type TableName = keyof typeof TABLES;
