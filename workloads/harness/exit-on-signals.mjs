// A harness that is told to end still runs its exit handlers, which end what it started.
const CODES = { SIGTERM: 143, SIGINT: 130 };
let hears = false;

/** Has this process exit rather than die by these signals; however often it is asked, once. */
export function exitOnSignals() {
  if (hears) return;
  hears = true;
  for (const [signal, code] of Object.entries(CODES))
    process.once(signal, () => process.exit(code));
}
