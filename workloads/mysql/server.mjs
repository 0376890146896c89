// Queries over a pool of one MySQL connection, with promises, with a decoy timer.
import { createServer } from 'node:http';
import mysql from 'mysql2/promise';
import truth from '../plant/truth.cjs';
import database from './database.cjs';

const { host, port } = await database.startDatabase();
const pool = mysql.createPool({ host, port, user: 'planted', connectionLimit: 1 });

async function slow(planted, response) {
  planted.resource('database', `${host}:${port}`);
  setTimeout(() => undefined, 15);
  planted.note('wait');
  const pending = new Promise((resolve) => setTimeout(resolve, 5));
  planted.note('waitEnd');
  await pending;
  planted.note('woke');
  planted.note('query');
  const answered = pool.query('select something');
  planted.note('queryEnd');
  await answered;
  planted.note('answered');
  planted.answer(response);
}

const server = createServer((request, response) => {
  const planted = truth.begin(request);
  if (request.url === '/slow') slow(planted, response);
  else planted.answer(response);
});
truth.listen(server);
