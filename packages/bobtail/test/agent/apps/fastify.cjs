/** A Fastify service; the version is chosen by the environment. */
const fastify = require(process.env.FRAMEWORK)();

fastify.get('/users/:id', async (request) => {
  await new Promise((done) => setTimeout(done, 2));
  return { id: request.params.id };
});
fastify.post('/body', async (request) => ({ keys: Object.keys(request.body) }));
fastify.get('/quit', (_request, reply) => {
  reply.raw.on('finish', () => process.exit(0));
  reply.send('bye');
});
fastify.listen({ port: 0, host: '127.0.0.1' });
