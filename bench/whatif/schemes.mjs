// Table 7 and Figure 7 in replays: services are recorded, and replayed under every scheme.
//
//   node bench/whatif/schemes.mjs --out DIR [--services cpu,redis,…] [--seed 1] [--node NODE]
//     [--recordings DIR [--record-only]]
//
// Each answer is written when it is there (`SERVICE-SEED.json`), so a run that was cut off goes on.
// With `--recordings` the recordings are kept there, and those that are there are not made again.
// Requests that came while the host took time are in no percentile; a recording of which these are
// most is made again. Two CPUs: the service on one, the load and databases on the other.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startServices } from '../../workloads/harness/services.mjs';
import { bobtail, recordWhole, withoutRoot } from '../harness/bobtail.mjs';
import { LOAD_CORE, pin, SERVER_CORE } from '../harness/cpu.mjs';
import { hostText } from '../harness/host.mjs';
import { outcomeOf, policiesOf, SCHEMES } from './schemes-list.mjs';
import { SERVICES, serviceNamed, WARMUP_S } from './services.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    services: { type: 'string', default: Object.keys(SERVICES).join(',') },
    seed: { type: 'string', default: '1' },
    node: { type: 'string', default: join(root, 'node_modules/node24/bin/node') },
    recordings: { type: 'string' },
    'record-only': { type: 'boolean', default: false },
  },
});
if (values.out === undefined) {
  process.stderr.write('usage: node bench/whatif/schemes.mjs --out DIR [--services NAME,…]\n');
  process.exit(64);
}

/** Records a service under its load into `out`, which is there only when it is whole. */
async function record({ needs, command, folder, load, env }, out) {
  const databases = await startServices(needs);
  for (const reason of Object.values(databases.missing)) throw new Error(reason);
  const words = [process.execPath, ...load(values.seed)];
  const onPort = words.map((word) => `'${word}'`).join(' ');
  const flags = ['--warmup', String(WARMUP_S), '--on-port', onPort];
  const pinned = ['taskset', '-c', String(SERVER_CORE), ...command(values.node)];
  const all = { ...process.env, ...databases.environment, ...env, SEED: values.seed };
  try {
    await recordWhole(out, flags, pinned, { env: all, cwd: folder?.(values.node) ?? root });
  } finally {
    await databases.stop();
  }
}

/** What `whatif` answers of a recording under these policies. */
async function replayed(recording, policies) {
  const asked = policies.flatMap((policy) => ['--policy', policy]);
  return JSON.parse(await bobtail(['whatif', recording, '--json', ...asked]));
}

pin(process.pid, LOAD_CORE);
mkdirSync(values.out, { recursive: true });
const kept = values.recordings ?? mkdtempSync(join(tmpdir(), 'bobtail-bench-schemes-'));
mkdirSync(kept, { recursive: true });
const version = execFileSync(values.node, ['--version'], { encoding: 'utf8' }).trim();
const host = hostText();
const about = { node: version, host, schemes: SCHEMES };
writeFileSync(join(values.out, 'about.json'), `${JSON.stringify(about, null, 2)}\n`);
const services = values.services.split(',').map((name) => ({ name, ...serviceNamed(name) }));
for (const { name, ...service } of services) {
  const file = join(values.out, `${name}-${values.seed}.json`);
  if (existsSync(file)) continue;
  const out = join(kept, `${name}-${values.seed}.bobtail`);
  while (!existsSync(out)) {
    const unjudged = `${out}.unjudged`;
    // Of a run that was killed before it was judged, or of one that is not kept.
    rmSync(unjudged, { recursive: true, force: true });
    await record(service, unjudged);
    const { requests, leftOutRequests } = await replayed(unjudged, []);
    process.stderr.write(`${name}: of ${requests} requests, ${leftOutRequests} left out\n`);
    if (leftOutRequests !== null) renameSync(unjudged, out);
  }
  if (values['record-only']) continue;
  const combined = outcomeOf(await replayed(out, ['combined']), 'combined');
  const answer = await replayed(out, policiesOf(combined.policy.energy));
  writeFileSync(file, `${JSON.stringify(withoutRoot(answer))}\n`);
  process.stdout.write(`${file}\n`);
}
if (values.recordings === undefined) rmSync(kept, { recursive: true, force: true });
