/** Collects the values of an option that may be given several times; the default is none. */
export function collect(value: string, values: readonly string[]): string[] {
  return [...values, value];
}
