// An express service with one slow route: the report is put together in one go on the event loop,
// so that everybody else waits behind it.
import express from 'express';

const app = express();

app.get('/users/:id', (request, response) => {
  response.json({ id: request.params.id, name: `user ${request.params.id}` });
});

app.get('/report/:year', (request, response) => {
  response.json(buildReport(request.params.year));
});

/** 20 ms of work. */
function buildReport(year) {
  const end = performance.now() + 20;
  let rows = 0;
  while (performance.now() < end) rows += 1;
  return { year, rows };
}

app.listen(0, '127.0.0.1');
