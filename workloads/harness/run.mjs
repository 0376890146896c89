// Records planted causes on Node binaries and says what a recording got wrong.
//
//   node harness/run.mjs [--plain] [--node PATH]... [CAUSE]...
//
// `planted.test.mjs` does the same as a test suite; this prints more, for one who mends a cause.
import { parseArgs } from 'node:util';
import { causes, expectationOf, expectations, needs, runs } from './causes.mjs';
import { check, hops } from './check.mjs';
import { plain, recorded } from './record.mjs';
import { startServices } from './services.mjs';
import { compareClasses, workOf } from './work.mjs';

function unavailableText({ mechanism, reason }) {
  return `${mechanism} is unavailable: ${reason}`;
}

/** All failures of one run, each with the request it is about. */
export async function failuresOf(run, expected) {
  return recorded(run, ({ planted, explained, report, slices }) => {
    const failures = [];
    const counting = [];
    let checked = 0;
    for (const request of planted.filter(({ counts }) => counts)) {
      const expectation = expectationOf(expected, run.server, request);
      if (!expectation) continue;
      checked += 1;
      const about = explained.get(request.request);
      if (about) counting.push({ ...request, explained: about, work: workOf(about) });
      const list = about ? check(about, request, expectation) : ['was not recorded'];
      if (list.length) failures.push({ request, explained: about, failures: list });
    }
    const classes = expected.classes?.({ requests: counting, report, slices }) ?? [];
    const { told, wrong } = compareClasses(classes);
    // A class that could not be recorded is 0: then the reason is what is wrong.
    if (wrong.length) wrong.push(...report.unavailable.map(unavailableText));
    wrong.push(...(expected.unsaid?.({ requests: counting, report }) ?? []));
    return { checked, failures, told, wrong };
  });
}

/** The path of an explained request, a line for each hop. */
export function pathText(explained) {
  if (!explained) return '';
  const line = (hop) => {
    const ms = (hop.durationNs / 1e6).toFixed(3).padStart(9);
    const shared = hop.shared ? ' shared' : '';
    const blamed = hop.segments.flatMap(({ culprits }) => culprits ?? []);
    const culprits = blamed.map(
      ({ route, location, durationNs }) => `${route} ${location} ${(durationNs / 1e6).toFixed(3)}`,
    );
    const tail = culprits.length ? ` < ${culprits.slice(0, 4).join(', ')}` : '';
    return `${ms} ms ${hop.kind} ${hop.type}#${hop.event} ${hop.resource ?? ''}${shared}${tail}`;
  };
  return hops(explained.segments).map(line).join('\n');
}

/** What a failed request should have been, and what was recorded. */
export function failureText({ request, explained, failures }) {
  const begin = request.marks.begin;
  const marks = Object.entries(request.marks)
    .map(([name, atNs]) => `${name} ${((atNs - begin) / 1e6).toFixed(3)}`)
    .join(', ');
  const title = `${request.method} ${request.path} (request ${request.request})`;
  return [title, ...failures.map((text) => `  - ${text}`), marks, pathText(explained)].join('\n');
}

async function showPlain(run) {
  const all = await plain(run);
  process.stdout.write(`${run.title}: ${all.length} requests\n`);
  for (const request of all) process.stdout.write(`${failureText({ request, failures: [] })}\n`);
}

async function showRecorded(run, expected) {
  const { checked, failures, wrong, told } = await failuresOf(run, expected);
  const verdict = failures.length || wrong.length || !checked ? 'FAILED' : 'ok';
  process.stdout.write(`${verdict} ${run.title}: ${checked} requests, ${failures.length} wrong\n`);
  for (const failure of failures.slice(0, 3)) process.stdout.write(`${failureText(failure)}\n`);
  for (const line of [...told, ...wrong]) process.stdout.write(`  ${line}\n`);
  if (verdict !== 'ok') process.exitCode = 1;
}

async function main() {
  const options = { plain: { type: 'boolean' }, node: { type: 'string', multiple: true } };
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const names = positionals.length ? positionals : causes();
  const services = await startServices(await needs(names));
  for (const [name, why] of Object.entries(services.missing))
    process.stdout.write(`unavailable: ${name}: ${why}\n`);
  try {
    for (const node of values.node ?? [process.execPath]) {
      process.stdout.write(`${node}\n`);
      for (const cause of names) {
        const expected = await expectations(cause);
        if (expected.needs?.some((name) => name in services.missing)) continue;
        for (const run of runs(cause, expected)) {
          const environment = { ...services.environment, ...run.environment };
          const each = { ...run, node, environment };
          await (values.plain ? showPlain(each) : showRecorded(each, expected)).catch((error) => {
            process.stdout.write(`FAILED ${run.title}: ${error.message}\n`);
            process.exitCode = 1;
          });
        }
      }
    }
  } finally {
    await services.stop();
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) await main();
