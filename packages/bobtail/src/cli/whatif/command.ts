/** The options of `bobtail whatif`. */
import type { Command } from 'commander';
import { Failure } from '../failure';
import { parsePercentile } from '../quantity';

interface WhatIfFlags {
  latency?: string;
  domain?: string;
  budget?: string;
  look?: string;
  tail?: string;
  html?: string;
  json?: boolean;
  latencies: boolean;
  quiet: boolean;
}

/** In the order in which they were asked for: both options add to the same. */
type Scenarios = { readonly kind: 'set' | 'policy'; readonly text: string }[];

const LANGUAGE = `
Changes are factors of time, with commas between them:
  native= gc= jit= ic= exec= io= not-running=   classes of work, and waits
  route:/export.exec=0.5                        work for a route (exec, native, gc, jit, ic)
  resource:db:5432.io=2                         waits for a resource; a part of its name will do
  pool=8 rate=1.5                               threads of the pool; times the load
  latency=500us budget=2 look=33us domain=shared,policy=combined:k=3
                                                last, a policy, and what its lever is like
Policies that run live, too (docs/guide/boosting.md has their settings):
  static:base static:peak static:3.3 gc-boost queue-boost:k=2.5 combined deadline
Policies that know what no sensor tells, or move no lever:
  oracle:tail=99 oracle:energy=1.1 adrenaline:types=1..n rubik:target=20ms gci
docs/guide/what-if.md explains them, and what a replay cannot know.`;

/** All but `gci`, which turns requests away. */
function movesLever(policy: string): boolean {
  return !/^\s*gci\b/.test(policy);
}

/** A policy in the language of changes, with what its lever is like, and how often it looks. */
function policyScenario(policy: string, flags: WhatIfFlags): string {
  const { latency, domain, budget, look } = movesLever(policy) ? flags : {};
  const lever = Object.entries({ latency, domain, budget, look }).filter(
    ([, value]) => value !== undefined,
  );
  return [...lever, ['policy', policy]].map((one) => one.join('=')).join(',');
}

/** Adds the verb. */
export function addWhatIf(program: Command): void {
  const asked: Scenarios = [];
  const scenario = (kind: 'set' | 'policy') => (text: string) => {
    asked.push({ kind, text });
  };
  program
    .command('whatif')
    .summary('replay a recording under changes: what they would bring')
    .description('Says what changes would bring, from replays of a recording.')
    .argument('<folder>', 'the recording')
    .option(
      '--set <changes>',
      'a scenario, such as gc=0.7 or route:/export.exec=0.5,pool=8; again for another',
      scenario('set'),
    )
    .option(
      '--policy <policy>',
      'a scenario under a policy of boost, oracle, rubik, adrenaline or gci; again for another',
      scenario('policy'),
    )
    .option('--latency <duration>', 'of the lever of --policy (default: 20us)')
    .option('--domain <loops>', 'shared: one lever for all; own (default): each; or 2: every two')
    .option(
      '--budget <percent>',
      'of the time that the loop works, for looking; or none (default: 1)',
    )
    .option('--look <duration>', 'CPU time of one look, as boost tells it (default: 15us)')
    .option('--tail <percentile>', 'where the tail begins (default: 99.9)')
    .option('--html <file>', 'write the answer as an HTML page')
    .option('--json', 'the answer as JSON')
    .option('--latencies', 'in the JSON also how many requests take how long', false)
    .option('-q, --quiet', 'no progress', false)
    .addHelpText('after', LANGUAGE)
    .action(async (folder: string, flags: WhatIfFlags) => {
      for (const name of ['latency', 'domain', 'budget', 'look'] as const) {
        const value = flags[name];
        const goesWith = asked.filter(({ kind }) => kind === 'policy');
        if (value !== undefined && !goesWith.some(({ text }) => movesLever(text))) {
          const of = goesWith.length > 0 ? ' that moves a lever' : '';
          throw new Failure('usage', `--${name} goes with --policy${of}`, value);
        }
      }
      if (flags.latencies && !flags.json)
        throw new Failure('usage', '--latencies goes with --json');
      const { whatif } = await import('./whatif');
      await whatif({
        folder,
        scenarios: asked.map(({ kind, text }) => {
          return kind === 'set' ? text : policyScenario(text, flags);
        }),
        ...(flags.tail === undefined ? {} : { percentile: parsePercentile(flags.tail, '--tail') }),
        ...(flags.html === undefined ? {} : { html: flags.html }),
        format: flags.json ? 'json' : flags.html === undefined ? 'text' : undefined,
        latencies: flags.latencies,
        quiet: flags.quiet,
      });
    });
}
