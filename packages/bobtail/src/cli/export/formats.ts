/** The formats of `bobtail export`: what each is called, and what it makes. */
import type { OutputKind } from './output-file';

/** A format as the addon knows it. */
export type AddonFormat = 'perfetto' | 'otlp-json' | 'otlp-protobuf' | 'pprof' | 'hdr';

interface Format {
  readonly kind: OutputKind;
  /** The encoding follows the name of the output; undefined where the addon does not write it. */
  addonFormat(out: string): AddonFormat | undefined;
}

/** Name of a format. */
export type FormatName = 'perfetto' | 'otlp' | 'pprof' | 'hdr' | 'parquet';

/** Formats by the name that is typed. */
export const FORMATS: Readonly<Record<FormatName, Format>> = {
  /** A time line for ui.perfetto.dev. */
  perfetto: { kind: 'file', addonFormat: () => 'perfetto' },
  /** A request body for `/v1/traces`. */
  otlp: {
    kind: 'file',
    addonFormat: (out) => (out.endsWith('.json') ? 'otlp-json' : 'otlp-protobuf'),
  },
  /** A profile of latency. */
  pprof: { kind: 'file', addonFormat: () => 'pprof' },
  /** A log of HdrHistogram. */
  hdr: { kind: 'file', addonFormat: () => 'hdr' },
  /** Tables, a file each. */
  parquet: { kind: 'folder', addonFormat: () => undefined },
};

/** All names, in the order of the table. */
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[];
