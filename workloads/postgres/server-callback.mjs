// The callback style in an ES module: the client is bound to its caller there too.
import { createServer } from 'node:http';
import pg from 'pg';
import truth from '../plant/truth.cjs';

const database = new URL(process.env.PLANTED_POSTGRES);
const pool = new pg.Pool({ connectionString: database.href, max: 1, idleTimeoutMillis: 0 });

function query(planted, response) {
  planted.resource('database', `${database.hostname}:${database.port}`);
  setTimeout(() => undefined, 15);
  planted.note('wait');
  setTimeout(() => {
    planted.note('woke');
    planted.note('query');
    pool.query('select pg_sleep(0.04)', (error) => {
      if (error) throw error;
      planted.note('answered');
      planted.answer(response);
    });
    planted.note('queryEnd');
  }, 5);
  planted.note('waitEnd');
}

const server = createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/query') query(planted, response);
  else planted.answer(response);
});
truth.listen(server);
