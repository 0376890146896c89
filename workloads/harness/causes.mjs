// The list of planted causes, and the runs each asks for.
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const workloads = dirname(dirname(fileURLToPath(import.meta.url)));

/** Names of all causes: the folders with an `expected.mjs`. */
export function causes() {
  return readdirSync(workloads, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'node_modules')
    .map(({ name }) => name)
    .filter((name) => readdirSync(join(workloads, name)).includes('expected.mjs'))
    .sort();
}

/** What `expected.mjs` of a cause says. */
export async function expectations(cause) {
  const { default: expected } = await import(`../${cause}/expected.mjs`);
  return expected;
}

/** The runs of a cause: each of its servers with each of its environments. */
export function runs(cause, expected) {
  const { servers = ['server.cjs'], variants = [{}], nodeFlags, recordFlags, slices } = expected;
  return servers.flatMap((server) =>
    variants.map((environment) => {
      const setting = Object.entries(environment).map(([name, value]) => ` ${name}=${value}`);
      const title = `${cause}/${server}${setting.join('')}`;
      return { cause, server, environment, nodeFlags, recordFlags, slices, title };
    }),
  );
}

/** What is expected of a planted request, or undefined where nothing is. */
export function expectationOf(expected, server, planted) {
  const expectation = expected.routes[`${planted.method} ${planted.path}`];
  if (!expectation || (expectation.servers && !expectation.servers.includes(server))) return;
  return { route: `${planted.method} ${planted.path}`, ...expectation };
}

/** The services that any of these causes needs. */
export async function needs(names) {
  const all = await Promise.all(names.map((name) => expectations(name)));
  return [...new Set(all.flatMap(({ needs = [] }) => needs))];
}
