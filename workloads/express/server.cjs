// An express application: middleware with a timer, then an async handler behind a parameter.
'use strict';

const express = require('express');
const http = require('node:http');
const truth = require('../plant/truth.cjs');

const app = express();

app.use((request, _response, next) => {
  request.planted = truth.begin(request);
  next();
});

app.use('/orders', (request, _response, next) => {
  request.planted.note('wait');
  request.planted.set('due', request.planted.marks.wait + 25e6);
  setTimeout(() => {
    request.planted.note('woke');
    next();
  }, 25);
  request.planted.note('waitEnd');
});

app.get('/orders/:id', async (request, response) => {
  await null;
  truth.spin(6);
  await null;
  request.planted.note('end');
  response.send('ok\n');
  request.planted.note('ended');
  request.planted.report();
});

app.get('/warm', (request, response) => request.planted.answer(response));

truth.listen(http.createServer(app));
