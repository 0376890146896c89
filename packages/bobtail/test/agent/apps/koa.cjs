/** A Koa service with its router. */
const Koa = require('koa');
const Router = require('@koa/router');

const app = new Koa();
const router = new Router();
router.get('/users/:id', async (context) => {
  await new Promise((done) => setTimeout(done, 2));
  context.body = context.params.id;
});
router.get('/quit', (context) => {
  context.body = 'bye';
  context.res.on('finish', () => process.exit(0));
});
app.use(router.routes());
app.listen(0, '127.0.0.1');
