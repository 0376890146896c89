// What is compared: the paper's schemes (VEE'19, Tables 6 and 7), each as a policy and V8 flags.

/** At the base with another young generation than it has: for `tune.mjs` to choose from. */
const SEMI_SPACES_MB = [1, 4, 8, 32, 64];
const semiSpaces = SEMI_SPACES_MB.map((mb) => [
  `semi-${mb}`,
  {
    policy: 'static:base',
    flags: semiSpace(mb),
    semiSpaceMb: mb,
    label: `static 2.6 GHz, semi-space ${mb} MB`,
    isExtra: true,
  },
]);

/** Ours with settings of its own, by the name of the arm, each twice (A/A). */
const SETTINGS = {
  // Of less of what Combined would boost than the default of then (0.9).
  'deadline-85': 'of-combined=0.85,chance=0.2',
  // Of the same, for turns only that are likelier to become late: the default of some hours on
  // 2026-11-29.
  'deadline-85-sure': 'of-combined=0.85,chance=0.4',
  // Between the two: the default since.
  'deadline-85-likely': 'of-combined=0.85,chance=0.3',
};
const againOf = (name) => `${name}-again`;
const ofSettings = Object.entries(SETTINGS).flatMap(([name, settings]) => {
  const label = `deadline (ours, ${settings.replace(',', ', ')}, without tuning)`;
  const arm = { policy: `deadline:${settings}`, label, isExtra: true };
  return [
    [name, arm],
    [againOf(name), { ...arm, label: `${label} again (A/A)` }],
  ];
});

/**
 * Full speed stands for 4.0 GHz, as `boost --actuator emulated` has it by default. A speed that is
 * held is for the turns of that arm only, over a service at the base.
 */
export const ARMS = {
  'static-2.6': { policy: 'static:base', label: 'static 2.6 GHz' },
  'static-3.3': { policy: 'static:3.3', isHeld: true, label: 'static 3.3 GHz' },
  'static-4.0': { policy: 'static:peak', isHeld: true, label: 'static 4.0 GHz' },
  'gc-boost': { policy: 'gc-boost', label: 'GC-Boost' },
  'gc-boost-tuned': { policy: 'gc-boost', isTuned: true, label: 'GC-Boost (after tuning)' },
  'queue-boost': { policy: 'queue-boost', label: 'Queue Boost' },
  combined: { policy: 'combined', isTuned: true, label: 'Combined (after tuning)' },
  deadline: { policy: 'deadline', isTuned: true, label: 'deadline (ours, after tuning)' },
  // What a replay of a recording at the base can tell: it knows nothing of other flags.
  'combined-untuned': {
    policy: 'combined',
    label: 'Combined (without tuning)',
    isExtra: true,
  },
  'combined-again': {
    policy: 'combined',
    label: 'Combined again (A/A, without tuning)',
    isExtra: true,
  },
  // Until 2026-11-30 boosts of the paper's policies lasted a millisecond at least by default, of
  // which it says nothing; since then the first of these is what Combined is by default.
  'combined-free': {
    policy: 'combined:hold=0ns,gc-hold=0ns',
    label: 'Combined without a hold (without tuning)',
    isExtra: true,
  },
  'combined-held': {
    policy: 'combined:hold=1ms,gc-hold=1ms',
    label: 'Combined with a hold of 1 ms (without tuning)',
    isExtra: true,
  },
  'deadline-untuned': {
    policy: 'deadline',
    label: 'deadline (ours, without tuning)',
    isExtra: true,
  },
  ...Object.fromEntries(ofSettings),
  'a-a': { policy: 'static:base', label: 'static 2.6 GHz again (A/A)' },
  'static-2.6-tuned': {
    policy: 'static:base',
    isTuned: true,
    label: 'static 2.6 GHz (after tuning)',
    isExtra: true,
  },
  recorded: recorded('plain'),
  'recorded-tuned': { ...recorded('tuned'), isTuned: true },
  aided: {
    policy: 'static:base',
    isAided: true,
    label: "static 2.6 GHz, with V8's helpers",
    isExtra: true,
  },
  ...Object.fromEntries(semiSpaces),
};
/** Not the extra ones, which are to be asked for by name. */
export const USUAL = Object.keys(ARMS).filter((name) => !ARMS[name].isExtra);

/** V8's flags of a young generation that does not change. */
export function semiSpace(mb) {
  return `--min-semi-space-size=${mb} --max-semi-space-size=${mb}`;
}

/** Not driven but recorded, for `predict.mjs`: of its flags' kind, as a prediction is called. */
function recorded(kind) {
  const label = `static 2.6 GHz, recorded, ${kind} flags`;
  return { policy: 'static:base', recordedKind: kind, label, isExtra: true };
}

/** The paper's best with the base's flags, and again. */
export const COMBINED = ['combined-untuned', 'combined-again'];
/** Ours likewise, by what may be asked for. */
export const OURS = [
  ['deadline-untuned'],
  ...Object.keys(SETTINGS).map((name) => [name, againOf(name)]),
];
/** What everything is compared with. */
export const BASE = 'static-2.6';
export const BASE_POLICY = ARMS[BASE].policy;
/** Its speed, of the peak's: 2.6 of 4.0 GHz. */
export const BASE_SPEED = 0.65;
/** The arms of these names. */
export function armsOf(names) {
  return names.map((name) => {
    if (ARMS[name] === undefined) throw new Error(`no arm ${name}; there are ${Object.keys(ARMS)}`);
    return { ...ARMS[name], name };
  });
}

/** V8's helpers take the one core from the loop: half of it for the 40 ms of each marking. */
const UNAIDED = '--single-threaded-gc';
/** The young generation of the base. */
export const BASE_SEMI_SPACE = semiSpace(16);
/**
 * Flags of all arms, so that two of a kind collect alike. V8 sizes the young generation by what
 * happens to survive and the old one by how fast it is just now: of two of the same, one collected
 * 58 times and the other 167. Idle, it would put collections off until a turn. What it grows by
 * between two collections of everything is small, so that a round has more than a few. And it makes
 * objects old from birth where a hundred of a kind happened to survive one collection, for good: of
 * six of the same with 1 MB, one promoted 2.4 times as much (`pretenured.mjs`).
 */
const ALIKE = [
  '--no-memory-reducer',
  ...BASE_SEMI_SPACE.split(' '),
  '--heap-growing-percent=50',
  '--no-allocation-site-pretenuring',
];
/** Those of the base's Node. */
export const BASE_FLAGS = [UNAIDED, ...ALIKE];
/** Flags that stand for the paper's GC-Tuning, where `tune.mjs` chose none and none are given. */
export const TUNED = semiSpace(4);

/** Those of an arm's Node; `tuned` as it is on the command line. */
export function flagsOf({ isTuned, isAided, flags: own }, tuned) {
  const flags = isAided ? ALIKE : BASE_FLAGS;
  const more = own ?? (isTuned ? tuned : undefined);
  return more === undefined ? flags : [...flags, ...more.split(' ')];
}

/** Services like the paper's kinds of application. */
export const SERVICES = {
  cpu: { paper: 'Etherpad Lite (no I/O)', needs: [] },
  redis: { paper: 'Todo (Redis)', needs: ['redis'] },
  disk: { paper: 'Lighter (disk)', needs: [] },
  postgres: { paper: 'Client Manager (MongoDB)', needs: ['postgres'] },
};

/** For an arm's service: helpers that collect do not yield, since the loop waits for them. */
export function environmentOf({ isAided }) {
  return isAided ? { V8_HELPERS: 'ordinary' } : {};
}

/**
 * For a service that is not recorded and is to be to V8 like one that is. With any hooks on
 * promises TurboFan does not inline an executor into `new Promise`. Maglev makes a function literal
 * that is assigned to a property in the old generation
 * (`Parser::CheckAssigningFunctionLiteralToProperty`, `Runtime::kNewClosure_Tenured`): dead or not,
 * it keeps all that it refers to alive for a scavenge, `this.reject = (err) => …` of ioredis the
 * whole command (`old-closures.mjs`).
 */
export const HOOKED = { PROMISE_HOOKS: 'empty' };
/** And for one that is not, whatever this process was told. */
export const UNHOOKED = { PROMISE_HOOKS: 'none' };
