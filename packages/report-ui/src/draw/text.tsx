/**
 * Recorded text as the page shows it: without control characters, with paths as the user typed
 * them, and breakable after the signs of a path.
 */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { plain } from '../../../bobtail/src/cli/text/plain';

/** The folder from which paths are told; empty for none. */
export const HomeContext = createContext('');

/** Text with paths below the recording's folder shortened. */
export function near(text: string, home: string): string {
  const shown = plain(text);
  if (home.length < 2) return shown;
  const here = `${home}/`;
  return shown.replaceAll(`file://${here}`, here).replaceAll(here, (match, offset: number) => {
    return /^[\s("']?$/.test(shown.charAt(offset - 1)) ? '' : match;
  });
}

/** A recorded text. */
export function Recorded({ text }: { readonly text: string }) {
  const pieces = near(text, useContext(HomeContext)).split(/(?<=[/._-])(?!:)/);
  return (
    <>
      {pieces.map((piece, index) => (
        <span key={index}>
          {piece}
          {index < pieces.length - 1 && <wbr />}
        </span>
      ))}
    </>
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
