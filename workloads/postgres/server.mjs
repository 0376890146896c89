// Queries over a pool of one PostgreSQL connection, with promises, with a decoy timer.
import { createServer } from 'node:http';
import pg from 'pg';
import truth from '../plant/truth.cjs';

const database = new URL(process.env.PLANTED_POSTGRES);
const pool = new pg.Pool({ connectionString: database.href, max: 1, idleTimeoutMillis: 0 });

/** The decoy is due while the query is pending; it is this request's, but not on its path. */
function decoy() {
  setTimeout(() => undefined, 15);
}

async function query(planted, response) {
  planted.resource('database', `${database.hostname}:${database.port}`);
  decoy();
  planted.note('wait');
  const pending = new Promise((resolve) => setTimeout(resolve, 5));
  planted.note('waitEnd');
  await pending;
  planted.note('woke');
  planted.note('query');
  const answered = pool.query('select pg_sleep(0.04)');
  planted.note('queryEnd');
  await answered;
  planted.note('answered');
  planted.answer(response);
}

/** Takes a connection first: the second of two requests waits for the first one's. */
async function checkout(planted, response) {
  planted.resource('database', `${database.hostname}:${database.port}`);
  decoy();
  planted.note('connect');
  const pending = pool.connect();
  planted.noteTurnEnd('connectEnd');
  const client = await pending;
  planted.note('connected');
  const answered = client.query('select pg_sleep(0.04)');
  await answered;
  planted.note('answered');
  planted.answer(response);
  client.release();
}

const server = createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/query') query(planted, response);
  else if (request.url.startsWith('/checkout')) checkout(planted, response);
  else planted.answer(response);
});
truth.listen(server);
