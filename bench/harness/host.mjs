// The host that figures were measured on, as a run tells it: what readers can compare with theirs.
//
// Without the name of the kernel's build, which is whoever's built it and tells nobody anything.
import { cpus, release } from 'node:os';

/** The kernel's version, such as `6.18.44`. */
export function kernelVersion() {
  return /^[\d.]*\d/.exec(release())?.[0] ?? release();
}

/** Such as `AMD EPYC, 2 CPUs, Linux 6.18.44`. */
export function hostText() {
  return `${cpus()[0].model}, ${cpus().length} CPUs, Linux ${kernelVersion()}`;
}
