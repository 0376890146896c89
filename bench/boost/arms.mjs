// What is compared: the paper's schemes (VEE'19, Tables 6 and 7), each as a policy and V8 flags.

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
  combined: { policy: 'combined', isTuned: true, label: 'Combined' },
  deadline: { policy: 'deadline', isTuned: true, label: 'deadline (ours)' },
  paced: { policy: 'paced', isTuned: true, label: 'paced (ours)' },
  'a-a': { policy: 'static:base', label: 'static 2.6 GHz again (A/A)' },
};

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

/** Flags that stand for the paper's GC-Tuning, unless others are given with `--tuned`. */
export const TUNED = '--max-semi-space-size=4';

/** Services like the paper's kinds of application. */
export const SERVICES = {
  cpu: { paper: 'Etherpad Lite (no I/O)', needs: [] },
  redis: { paper: 'Todo (Redis)', needs: ['redis'] },
  disk: { paper: 'Lighter (disk)', needs: [] },
  postgres: { paper: 'Client Manager (MongoDB)', needs: ['postgres'] },
};
