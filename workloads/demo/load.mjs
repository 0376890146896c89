// The load on the demo service: four routes at a fixed rate, and the export every 2.5 seconds.
//
// Open loop: requests are due at a rate, whatever the answers take, and late ones count from when
// they were due. Run by `bobtail record --on-port` with $PORT set.
import http from 'node:http';
import autocannon from 'autocannon';

const RATE_PER_S = Number(process.env.DEMO_RATE ?? 500);
const DURATION_S = Number(process.env.DEMO_SECONDS ?? 27);
const CONNECTIONS = 32;
const EXPORT_MS = 2_500;

const url = `http://127.0.0.1:${process.env.PORT}`;
const requests = ['offers', 'products', 'cart', 'products', 'search'].map((name, i) => ({
  path: `/${name}/${i * 37 + 11}`,
}));

/** Asks for the export now and then, on connections of its own. */
function exportNowAndThen() {
  const ask = () => http.get(`${url}/export`, (answer) => answer.resume()).on('error', complain);
  return setInterval(ask, EXPORT_MS);
}

function complain(error) {
  process.stderr.write(`load: ${error.message}\n`);
  process.exitCode = 1;
}

const exports = exportNowAndThen();
const result = await autocannon({
  url,
  requests,
  connections: CONNECTIONS,
  overallRate: RATE_PER_S,
  duration: DURATION_S,
});
clearInterval(exports);
const { p50, p99, p99_9, max } = result.latency;
process.stderr.write(
  `load: ${result['2xx']} answers at ${RATE_PER_S}/s; the client saw ` +
    `p50 ${p50} ms, p99 ${p99} ms, p99.9 ${p99_9} ms, max ${max} ms\n`,
);
if (result.errors || result.non2xx) complain(new Error(`${result.errors} errors`));
