// Repeats a measurement that failed while the host took time from this machine.
//
// What a hypervisor takes is in no account of the guest: it stands in a recording as computing, or
// as waiting, and not in the times that the planted server, V8 or the kernel tell. No tolerance
// covers that without hiding what a recorder gets wrong. So a failure is believed where the host
// took nothing, or where it comes back each time, as what a recorder gets wrong does.
import { stolenNs } from '../../bench/harness/cpu.mjs';

/** Of which the host disturbed each but the last. */
const TRIES = 6;
/** The kernel tells in steps of 10 ms: what was taken within one may be told of the next. */
const UNDISTURBED_TRIES = 2;

/**
 * What `measure` gives, as soon as it does not throw; else what it threw last.
 * @param {() => Promise<T>} measure throws what is wrong
 * @param {{toldNs?: () => number, repeated?: (error: Error, stolenNs: number) => void}} [how]
 *   `toldNs`: what the host took so far; `repeated` is called before each further try
 * @returns {Promise<T>}
 * @template T
 */
export async function undisturbed(measure, { toldNs = stolenNs, repeated } = {}) {
  let undisturbedTries = 0;
  for (let tries = 1; ; tries += 1) {
    const beforeNs = toldNs();
    try {
      return await measure();
    } catch (error) {
      const takenNs = toldNs() - beforeNs;
      if (takenNs === 0) undisturbedTries += 1;
      if (tries === TRIES || undisturbedTries === UNDISTURBED_TRIES) throw error;
      repeated?.(error, takenNs);
    }
  }
}
