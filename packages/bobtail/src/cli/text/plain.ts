/**
 * Text out of a recording without control characters: no escape sequence in a route reaches a
 * terminal. Apart from the other kinds of text because the HTML page shares it, which knows no
 * files.
 *
 * Signs that turn the direction of writing are control characters, too: with one, a name of a file
 * reads as another, and so does what stands beside it. Line separators break rows apart, and half
 * of a surrogate pair is no text.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029\p{Bidi_Control}\p{Surrogate}]+/gu;

/** Each run of control characters is a question mark. */
export function plain(text: string): string {
  return text.replace(CONTROL, '?');
}
