// Has the imitated frequency in its hand for a round of an experiment, as `bobtail boost` has it
// for its service, and lets go when its standard input ends: also with whoever started it. A line
// there is answered with how long the lever was up.
//
// A process of its own, at the priority of what it stands for: the experiment's yields to
// databases.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findLever } from '../../packages/bobtail/dist/cli/boost/lever.js';
import { memoryPlace } from '../../packages/bobtail/dist/cli/boost/memory-place.js';

const drive = JSON.parse(process.argv[2]);
const folder = mkdtempSync(join(memoryPlace(), 'bobtail-bench-lever-'));
const lever = await findLever({ actuator: drive.actuator }, drive, folder);
process.stdout.write(`${JSON.stringify({ drive: lever.drive, refused: lever.refused })}\n`);
for await (const _ of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await lever.keeper?.raised())}\n`);
}
await lever.keeper?.end();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
