/** An Express service with a router below a path, middleware and an error. */
const express = require(process.env.FRAMEWORK);

const app = express();
const router = express.Router();
router.get('/:id', (request, response) => {
  setTimeout(async () => {
    await null;
    response.json({ id: request.params.id });
  }, 2);
});
router.get('/:id/fail', (_request, _response, next) => next(new Error('planted')));
app.use('/users', router);
app.get(/^\/re(gex)?$/, (_request, response) => response.send('re'));
app.get('/quit', (_request, response) => response.end('bye', () => process.exit(0)));
app.use((_error, _request, response, _next) => response.status(500).send('failed'));
app.listen(0, '127.0.0.1');
