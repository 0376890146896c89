/**
 * Recorded text as the page shows it: without control characters, with paths as the user typed
 * them, and breakable after the signs of a path.
 */
import { plain } from '../../../bobtail/src/cli/text/plain';
import { useLook } from './context';

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
  const { meta } = useLook().page;
  const pieces = near(text, meta.home).split(/(?<=[/._-])(?!:)/);
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
