/** The formats of `bobtail export`: what each is called, and what it makes. */
import type { OutputKind } from './output-file';

/** Formats by the name that is typed. */
export const FORMATS = {
  /** A time line for ui.perfetto.dev. */
  perfetto: { kind: 'file' },
} as const satisfies Readonly<Record<string, { readonly kind: OutputKind }>>;

/** Name of a format. */
export type FormatName = keyof typeof FORMATS;

/** All names, in the order of the table. */
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly FormatName[];
