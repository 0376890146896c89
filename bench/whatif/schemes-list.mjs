// The schemes of Table 7, each with what the paper tells of it (VEE'19, Table 7 and section 7.1:
// mean tail reduction in per cent, energy relative to 2.6 GHz). Until 2026-11-30 boosts of Combined
// and its parts lasted a millisecond at least, by default, so older runs have one without that.
const FREE = 'combined:hold=0ns,gc-hold=0ns';
const HELD = 'combined:hold=1ms,gc-hold=1ms';
/** Combined as it was not by default: of runs until 2026-11-30, and of those since. */
export const OTHER_COMBINED = [FREE, HELD];
export const SCHEMES = {
  'static 3.3 GHz': { policy: 'static:3.3', paper: [null, 1.676] },
  'static 4.0 GHz': { policy: 'static:peak', paper: [null, 2.712] },
  'GC-Boost': { policy: 'gc-boost', paper: [13.56, 1.03], arm: 'gc-boost' },
  'GC-Boost (after tuning)': { paper: [17.23, 1.09], arm: 'gc-boost-tuned' },
  'Queue Boost': { policy: 'queue-boost', paper: [16.27, 1.1], arm: 'queue-boost' },
  Combined: { policy: 'combined', paper: [21.18, 1.14], arm: 'combined' },
  'Combined without a hold': { policy: FREE, isOld: true },
  'Combined with a hold of 1 ms': { policy: HELD },
  Rubik: { policy: 'rubik', paper: [7.99, 1.22] },
  'Adrenaline, one type': { policy: 'adrenaline', paper: [13.31, 1.56] },
  'Adrenaline, two types': { policy: 'adrenaline:types=2' },
  'Adrenaline, three types': { policy: 'adrenaline:types=3' },
  'Adrenaline, four types': { policy: 'adrenaline:types=4' },
  'deadline (ours)': { policy: 'deadline', arm: 'deadline' },
  'oracle, p99': { policy: 'oracle' },
  "oracle, Combined's energy": { policy: 'oracle:energy=combined' },
  "oracle, Combined's energy, p99 first": { policy: 'oracle:energy=combined,tail=99' },
  'oracle, energy 1.1': { policy: 'oracle:energy=1.1' },
  'oracle, energy 1.2': { policy: 'oracle:energy=1.2' },
};

/** Of an oracle's settings: as much as Combined costs on the same recording. */
const LIKE_COMBINED = 'energy=combined';

/** The policy where Combined costs so much. The oracle never takes more, so it is rounded down. */
function withEnergy(policy, combinedEnergy) {
  return policy.replace(LIKE_COMBINED, `energy=${Math.floor(combinedEnergy * 1e4) / 1e4}`);
}

/** All that are replayed, for a recording on which Combined costs so much. */
export function policiesOf(combinedEnergy) {
  return Object.values(SCHEMES)
    .filter(({ policy, isOld = false }) => policy !== undefined && !isOld)
    .map(({ policy }) => withEnergy(policy, combinedEnergy));
}

/** What `whatif` answered of a policy; nothing where it was not asked, as older runs were not. */
export function outcomeOf(answer, policy) {
  const of = (name) => answer.scenarios.find((one) => one.name.endsWith(`policy=${name}`));
  return policy.includes(LIKE_COMBINED)
    ? of(withEnergy(policy, of('combined').policy.energy))
    : of(policy);
}
