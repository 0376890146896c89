// What Bobtail says of the same time: the pieces of every request's critical path that the thread
// itself was busy with, in nanoseconds of the same clock as the samples.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const library = join(root, 'packages/bobtail/dist/index.js');

/** Start of each loop event and of the trace, from the text form of the trace. */
function loopBegins(folder) {
  const trace = readdirSync(folder).find((name) => name.endsWith('.trace'));
  const cargo = ['run', '--release', '--quiet', '-p', 'bobtail-trace', '--example', 'dump'];
  const { stdout, status, stderr } = spawnSync('cargo', [...cargo, '--', join(folder, trace)], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  });
  if (status !== 0) throw new Error(`dump ended with ${status}: ${stderr.slice(0, 300)}`);
  const startNs = Number(/^start (\d+)/m.exec(stdout)[1]);
  const begins = new Map();
  for (const [, at, event] of stdout.matchAll(/^\+?(-?\d+) loop-begin event=(\d+)/gm)) {
    begins.set(Number(event), startNs + Number(at));
  }
  return begins;
}

/** Segments `queue` and `exec` of all complete requests, as `{fromNs, untilNs, work}`. */
export async function readSegments(folder) {
  const { explainMany, report } = await import(library);
  const begins = loopBegins(folder);
  const { unavailable } = await report(folder);
  const requests = await explainMany(folder, { all: true });
  const segments = [];
  for (const { events, segments: own, complete } of requests) {
    const source = events.find(
      ({ registrar, onPath, id }) => onPath && !registrar && begins.has(id),
    );
    if (!complete || source === undefined) continue;
    const readyNs = begins.get(source.id) - source.beginNs;
    for (const { kind, startNs, durationNs, work } of own) {
      if (kind !== 'queue' && kind !== 'exec') continue;
      const fromNs = readyNs + startNs;
      segments.push({ fromNs, untilNs: fromNs + durationNs, work });
    }
  }
  segments.sort((a, b) => a.fromNs - b.fromNs);
  return { segments, requests: requests.length, unavailable };
}
