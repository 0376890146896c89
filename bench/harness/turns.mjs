// Whose turn it is among policies that one service has in turns (`in-turns`).

/** By the clock of a policy's readings. */
export function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * The place of who has turn `turn` of `count` policies, by a Williams square, as
 * `crates/policy/src/in_turns.rs` has it.
 */
export function onDuty(turn, count) {
  const [round, at] = [Math.floor(turn / count), turn % count];
  const isMirrored = count % 2 === 1 && Math.floor(round / count) % 2 === 1;
  const from = isMirrored ? count - 1 - at : at;
  const place = from % 2 === 1 ? (from + 1) / 2 : count - from / 2;
  return (place + round) % count;
}
