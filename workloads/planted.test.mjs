// Every planted cause, recorded on every Node: the recording must say what was planted.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { causes, expectations, needs, runs } from './harness/causes.mjs';
import { leaveOut } from './harness/leave-out.mjs';
import { nodeBinaries } from './harness/nodes.mjs';
import { failuresOf, failureText } from './harness/run.mjs';
import { startServices } from './harness/services.mjs';
import { undisturbed } from './harness/undisturbed.mjs';

const RUN_MS_MAX = 180_000;
let services;

before(async () => {
  services = await startServices(await needs(causes()));
});

after(() => services.stop());

/** What a cause needs and cannot have here, with the reasons; empty where it can run. */
function lacking(expected) {
  const missing = (expected.needs ?? []).filter((name) => name in services.missing);
  return missing.map((name) => `${name}: ${services.missing[name]}`).join('; ');
}

/** Throws what a recording of `run` gets wrong; gives what is to be told of one that is right. */
async function saysWhatWasPlanted(run, expected) {
  const { checked, failures, wrong, told } = await failuresOf(run, expected);
  const text = failures.slice(0, 3).map(failureText).join('\n\n');
  assert.equal(failures.length, 0, `${run.title}: ${failures.length} wrong\n${text}`);
  assert.deepEqual(wrong, [], `${run.title}: work classes`);
  assert.ok(checked > 0, `${run.title}: no request was checked`);
  return told;
}

for (const node of nodeBinaries()) {
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
  describe(`planted causes on Node ${version}`, () => {
    for (const cause of causes()) {
      it(cause, { timeout: RUN_MS_MAX }, async (test) => {
        const expected = await expectations(cause);
        const lack = lacking(expected);
        if (lack) return leaveOut(test, lack);
        for (const run of runs(cause, expected)) {
          const environment = { ...services.environment, ...run.environment };
          const repeated = (error, ns) => {
            test.diagnostic(`again, the host took ${ns / 1e6} ms: ${error.message}`);
          };
          const measure = () => saysWhatWasPlanted({ ...run, node, environment }, expected);
          for (const line of await undisturbed(measure, { repeated })) test.diagnostic(line);
        }
        return undefined;
      });
    }
  });
}
