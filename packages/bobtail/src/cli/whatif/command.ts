/** The options of `bobtail whatif`. */
import type { Command } from 'commander';
import { collect } from '../collect';
import { Failure } from '../failure';
import { parsePercentile } from '../quantity';

interface WhatIfFlags {
  set: string[];
  policy: string[];
  latency?: string;
  tail?: string;
  json?: boolean;
  quiet: boolean;
}

/** A policy in the language of changes. */
function policyScenario(policy: string, latency: string | undefined): string {
  return latency === undefined ? `policy=${policy}` : `latency=${latency},policy=${policy}`;
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
      'a scenario under a policy of boost, or under oracle or adrenaline; again for another',
      collect,
      [],
    )
    .option('--latency <duration>', 'of the lever of --policy (default: 20us)')
    .option('--tail <percentile>', 'where the tail begins (default: 99.9)')
    .option('--json', 'the answer as JSON')
    .option('-q, --quiet', 'no progress', false)
    .action(async (folder: string, flags: WhatIfFlags) => {
      if (flags.latency !== undefined && flags.policy.length === 0) {
        throw new Failure('usage', '--latency goes with --policy', flags.latency);
      }
      const { whatif } = await import('./whatif');
      await whatif({
        folder,
        scenarios: [...flags.set, ...flags.policy.map((one) => policyScenario(one, flags.latency))],
        ...(flags.tail === undefined ? {} : { percentile: parsePercentile(flags.tail, '--tail') }),
        format: flags.json ? 'json' : 'text',
        quiet: flags.quiet,
      });
    });
}
