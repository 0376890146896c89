/**
 * Text out of a recording without control characters: no escape sequence in a route reaches a
 * terminal. Apart from the other kinds of text because the HTML page shares it, which knows no
 * files.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const CONTROL = /[\x00-\x1f\x7f-\x9f]+/g;

/** Each run of control characters is a question mark. */
export function plain(text: string): string {
  return text.replace(CONTROL, '?');
}
