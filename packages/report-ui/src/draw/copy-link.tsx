/**
 * The address of what is looked at, to be sent to somebody who has the file.
 *
 * A browser may refuse the clipboard, and outside of a secure context there is none; then the
 * address is shown to be copied by hand, since it cannot always be seen elsewhere (a preview in a
 * mail program has no bar for it).
 */
import { useEffect, useRef, useState } from 'preact/hooks';

type Outcome = 'not asked' | 'copied' | 'refused';

/** A button, and what came of it. */
export function CopyLink() {
  const [outcome, setOutcome] = useState<Outcome>('not asked');
  const address = useRef<HTMLInputElement>(null);
  useEffect(() => address.current?.focus(), [outcome]);
  const copy = (): void => {
    const { clipboard } = navigator as { clipboard?: Clipboard };
    const refused = (): void => setOutcome('refused');
    if (clipboard === undefined) refused();
    else clipboard.writeText(location.href).then(() => setOutcome('copied'), refused);
  };
  return (
    <>
      <button type="button" onClick={copy}>
        {outcome === 'copied' ? 'copied' : 'copy link'}
      </button>
      {outcome === 'refused' && (
        <label class="address">
          The clipboard is not to be had; copy it from here{' '}
          <input
            type="text"
            readOnly
            value={location.href}
            ref={address}
            onFocus={(event) => event.currentTarget.select()}
          />
        </label>
      )}
    </>
  );
}
