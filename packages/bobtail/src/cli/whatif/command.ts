/** The options of `bobtail whatif`. */
import type { Command } from 'commander';
import { collect } from '../collect';
import { Failure } from '../failure';
import { parsePercentile } from '../quantity';

interface WhatIfFlags {
  set: string[];
  policy: string[];
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

/** A policy in the language of changes, with what its lever is like, and how often it looks. */
function policyScenario(policy: string, flags: WhatIfFlags): string {
  const { latency, domain, budget, look } = flags;
  const lever = Object.entries({ latency, domain, budget, look }).filter(
    ([, value]) => value !== undefined,
  );
  return [...lever, ['policy', policy]].map((one) => one.join('=')).join(',');
}

/** Adds the verb. */
export function addWhatIf(program: Command): void {
  program
    .command('whatif')
    .summary('replay a recording under changes: what they would bring')
    .description('Says what changes would bring, from replays of a recording.')
    .argument('<folder>', 'the recording')
    .option(
      '--set <changes>',
      'a scenario, such as gc=0.7 or route:/export.exec=0.5,pool=8; again for another',
      collect,
      [],
    )
    .option(
      '--policy <policy>',
      'a scenario under a policy of boost, oracle, rubik, adrenaline or gci; again for another',
      collect,
      [],
    )
    .option('--latency <duration>', 'of the lever of --policy (default: 20us)')
    .option('--domain <shared|own>', 'one lever for all loops, or one each (default: own)')
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
    .action(async (folder: string, flags: WhatIfFlags) => {
      for (const name of ['latency', 'domain', 'budget', 'look'] as const) {
        const value = flags[name];
        if (value !== undefined && flags.policy.length === 0) {
          throw new Failure('usage', `--${name} goes with --policy`, value);
        }
      }
      if (flags.latencies && !flags.json)
        throw new Failure('usage', '--latencies goes with --json');
      const { whatif } = await import('./whatif');
      await whatif({
        folder,
        scenarios: [...flags.set, ...flags.policy.map((one) => policyScenario(one, flags))],
        ...(flags.tail === undefined ? {} : { percentile: parsePercentile(flags.tail, '--tail') }),
        ...(flags.html === undefined ? {} : { html: flags.html }),
        format: flags.json ? 'json' : flags.html === undefined ? 'text' : undefined,
        latencies: flags.latencies,
        quiet: flags.quiet,
      });
    });
}
