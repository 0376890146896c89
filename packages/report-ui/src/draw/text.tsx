/**
 * Recorded text as the page shows it: without control characters, with paths as the user typed
 * them, and breakable after the signs of a path.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { plain } from '../../../bobtail/src/cli/text/plain';

/** The beginning of a text, without half of a sign at its end. */
export function beginning(text: string, length: number): string {
  return text.length <= length
    ? text
    : `${text.slice(0, length - 1).replace(/\p{Surrogate}$/u, '')}…`;
}

/** The folder from which paths are told; empty for none. */
export const HomeContext = createContext('');

/** What has no place to break has one after so many signs; words stay whole. */
const PIECE = /(?:\S{1,40}\s+)*\S{1,40}\s*|\s+/gsu;

/** Text with paths below the recording's folder shortened. */
export function near(text: string, home: string): string {
  const shown = plain(text);
  if (home.length < 2) return shown;
  const here = `${home}/`;
  return shown.replaceAll(`file://${here}`, here).replaceAll(here, (match, offset: number) => {
    return /^[\s("']?$/.test(shown.charAt(offset - 1)) ? '' : match;
  });
}

/** A recorded text; one written from right to left turns nothing around it. */
export function Recorded({ text }: { readonly text: string }) {
  const pieces = near(text, useContext(HomeContext))
    .split(/(?<=[/._-])(?!:)/)
    .flatMap((piece) => piece.match(PIECE) ?? []);
  return (
    <bdi>
      {pieces.map((piece, index) => (
        <span key={index}>
          {piece}
          {index < pieces.length - 1 && <wbr />}
        </span>
      ))}
    </bdi>
  );
}

/** Where it was in what ran, of a place that is told in its source; nothing for any other. */
export function Generated({ location }: { readonly location: string | null }) {
  if (location === null) return null;
  return (
    <span class="generated">
      ran as <Recorded text={location} />
    </span>
  );
}
