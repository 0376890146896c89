// An express application as people write them: a few middlewares, a router, a JSON answer.
'use strict';

const express = require('express');
const http = require('node:http');
const { listen } = require('./listen.cjs');

const orders = new Map();
for (let id = 0; id < 500; id += 1) {
  const lines = Array.from({ length: 8 }, (_, line) => ({ line, item: `item-${id}-${line}` }));
  orders.set(String(id), { id, lines, total: id * 7 });
}

const app = express();
app.use((request, _response, next) => {
  request.user = request.headers['x-user'] ?? 'nobody';
  next();
});
app.use((_request, response, next) => {
  response.setHeader('cache-control', 'no-store');
  next();
});
const router = express.Router();
router.get('/:id', async (request, response) => {
  const order = orders.get(request.params.id);
  await null;
  response.json({ user: request.user, order });
});
app.use('/orders', router);
listen(http.createServer(app));
