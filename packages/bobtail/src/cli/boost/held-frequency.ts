/** The frequency that a policy holds, such as `static:3.3`: it needs a lever that has some. */

/** Of the command line and of policies, which have GHz. */
export const KHZ_PER_GHZ = 1e6;

/** In kHz; undefined of a policy that decides, and of `static:base` and `static:peak`. */
export function heldKhz(policy: string): number | undefined {
  const ghz = /^static:([\d.]+)$/.exec(policy)?.[1];
  return ghz === undefined ? undefined : Math.round(Number(ghz) * KHZ_PER_GHZ);
}
