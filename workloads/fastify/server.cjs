// A fastify application: an async hook with a timer, then an async handler.
'use strict';

const truth = require('../plant/truth.cjs');
const app = require('fastify')();

app.addHook('onRequest', (request, _reply, next) => {
  request.planted = truth.begin(request.raw);
  next();
});

app.addHook('preHandler', async (request) => {
  if (request.url === '/warm') return;
  request.planted.note('wait');
  request.planted.set('due', request.planted.marks.wait + 25e6);
  const pending = new Promise((resolve) => setTimeout(resolve, 25));
  request.planted.note('waitEnd');
  await pending;
  request.planted.note('woke');
});

app.get('/warm', (request, reply) => {
  reply.hijack();
  request.planted.answer(reply.raw);
});

app.get('/orders/:id', async (request) => {
  truth.spin(6);
  request.planted.note('end');
  return { id: request.params.id };
});

app.addHook('onResponse', (request, _reply, next) => {
  if (request.url !== '/warm') {
    request.planted.note('ended');
    request.planted.report();
  }
  next();
});

app.ready().then(() => truth.listen(app.server));
