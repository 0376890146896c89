/** Each request waits for one answer of a client, by callback; all share one connection. */
const http = require('node:http');

const port = Number(process.env.CLIENT_PORT);
const place = { host: '127.0.0.1', port };

const clients = {
  'pg callback'() {
    const { Client } = require('pg');
    const client = new Client(process.env.PLANTED_POSTGRES);
    client.connect();
    return (done) => client.query('select pg_sleep(0.003)', done);
  },
  'pg pool'() {
    const { Pool } = require('pg');
    const pool = new Pool({ connectionString: process.env.PLANTED_POSTGRES, max: 1 });
    return (done) => pool.query('select pg_sleep(0.003)', done);
  },
  'pg pool connect'() {
    const { Pool } = require('pg');
    const pool = new Pool({ connectionString: process.env.PLANTED_POSTGRES, max: 1 });
    return (done) =>
      pool.connect((error, _client, release) => {
        if (error) return done(error);
        return setTimeout(() => {
          release();
          done();
        }, 2);
      });
  },
  'pg query events'() {
    const { Client, Query } = require('pg');
    const client = new Client(process.env.PLANTED_POSTGRES);
    client.connect();
    return (done) => client.query(new Query('select pg_sleep(0.003)')).on('end', () => done());
  },
  'pg promise'() {
    const { Client } = require('pg');
    const client = new Client(process.env.PLANTED_POSTGRES);
    client.connect();
    return (done) => client.query('select pg_sleep(0.003)').then(() => done(), done);
  },
  'mysql2 query'() {
    const connection = require('mysql2').createConnection({ ...place, user: 'u' });
    return (done) => connection.query('select 1', done);
  },
  'mysql2 pool'() {
    const pool = require('mysql2').createPool({ ...place, user: 'u', connectionLimit: 1 });
    return (done) => pool.query('select 1', done);
  },
  'mysql2 promise'() {
    const pool = require('mysql2/promise').createPool({ ...place, user: 'u', connectionLimit: 1 });
    return (done) => pool.query('select 1').then(() => done(), done);
  },
  'mysql query'() {
    const connection = require('mysql').createConnection({ ...place, user: 'u' });
    return (done) => connection.query('select 1', done);
  },
  'mysql pool'() {
    const pool = require('mysql').createPool({ ...place, user: 'u', connectionLimit: 1 });
    return (done) => pool.query('select 1', done);
  },
  'redis 3'() {
    const client = require('redis').createClient(`redis://${process.env.PLANTED_REDIS}`);
    return (done) => client.get('key', done);
  },
  'ioredis callback'() {
    const client = new (require('ioredis'))(process.env.PLANTED_REDIS);
    return (done) => client.get('key', done);
  },
  'generic-pool 2'() {
    const { Pool } = require('generic-pool');
    const create = (done) => setTimeout(() => done(null, {}), 1);
    const pool = new Pool({ name: 'p', create, destroy: () => undefined, max: 1 });
    return (done) =>
      pool.acquire((error, resource) => {
        setTimeout(() => {
          pool.release(resource);
          done(error);
        }, 2);
      });
  },
};

const ask = clients[process.env.CLIENT]();
const server = http.createServer((request, response) => {
  if (request.url === '/quit') return response.end('bye', () => process.exit(0));
  const answer = (error) => {
    if (error) response.statusCode = 500;
    setTimeout(() => response.end(error ? String(error) : 'ok'), 1);
  };
  return setTimeout(() => ask(answer), 1);
});
server.listen(0, '127.0.0.1');
