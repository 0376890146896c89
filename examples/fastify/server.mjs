// A fastify service with one slow route. With `--in-steps` it builds its report in small steps and
// lets others run in between.
import { setImmediate as nextTurn } from 'node:timers/promises';
import fastify from 'fastify';

const inSteps = process.argv.includes('--in-steps');
const app = fastify();

app.get('/users/:id', async (request) => {
  const { id } = request.params;
  return { id, name: `user ${id}` };
});

app.get('/report/:year', async (request) => {
  let rows = 0;
  for (let step = 0; step < 20; step++) {
    rows += buildStep();
    if (inSteps) await nextTurn();
  }
  return { year: request.params.year, rows };
});

/** 1 ms of work. */
function buildStep() {
  const end = performance.now() + 1;
  let rows = 0;
  while (performance.now() < end) rows += 1;
  return rows;
}

await app.listen({ port: 0, host: '127.0.0.1' });
