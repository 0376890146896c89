/**
 * Where the wrappers find the stream once the recording of this thread has started.
 *
 * Functions like `setTimeout` are captured by modules long before a server listens, so they are
 * wrapped at preload and look here on each call: without a stream they only pass on.
 */

/** The functions of the stream module; `undefined` until the probe has started. */
export type Stream = typeof import('./stream');

/** The stream of this thread for everything that records causes; unset with `--detail loop`. */
export const recorder: { stream: Stream | undefined } = { stream: undefined };
