// Repeats a measurement that failed while the host took time from this machine.
//
// What a hypervisor takes is in no account of the guest: it stands in a recording as computing, or
// as waiting, and not in the times that the planted server, V8 or the kernel tell. No tolerance
// covers that without hiding what a recorder gets wrong. What a recorder gets wrong comes back each
// time, so that only a failure that comes back is believed; on a machine that is left alone the
// second is, since the kernel tells in steps of 10 ms. What fails in half of the runs would be seen
// there, and most likely not on a host that disturbs every run.
import { readStealNs } from '../../packages/bobtail/dist/cli/record/stolen.js';

/** Of which the host disturbed each but the last. */
const TRIES = 6;
const UNDISTURBED_TRIES = 2;

/**
 * What `measure` gives, as soon as it does not throw; else what it threw last. Only assertions that
 * fail are measured again.
 * @param {() => Promise<T>} measure throws what is wrong
 * @param {{toldNs?: () => number | null, repeated?: (error: Error, takenNs: number) => void}} [how]
 *   `toldNs`: what the host took so far; `repeated` is called before each further try
 * @returns {Promise<T>}
 * @template T
 */
export async function undisturbed(measure, { toldNs = readStealNs, repeated } = {}) {
  let undisturbedTries = 0;
  for (let tries = 1; ; tries += 1) {
    const beforeNs = toldNs() ?? 0;
    try {
      return await measure();
    } catch (error) {
      const takenNs = (toldNs() ?? 0) - beforeNs;
      if (takenNs <= 0) undisturbedTries += 1;
      const isLast = tries === TRIES || undisturbedTries === UNDISTURBED_TRIES;
      if (isLast || error.code !== 'ERR_ASSERTION') throw error;
      repeated?.(error, takenNs);
    }
  }
}
