/**
 * Fastify: asks for the matched route of each request.
 *
 * Versions 4 and 5 both publish every new instance on the channel `fastify.initialization`; a hook
 * on it is public API in both, while the per-request channel exists in 5 only.
 */

import { subscribe } from 'node:diagnostics_channel';
import { Exchange } from '../exchange';

interface FastifyRequest {
  routeOptions?: { url?: string };
  routerPath?: string;
}

interface FastifyInstance {
  addHook(
    name: 'onRequest',
    hook: (request: FastifyRequest, reply: { raw: object }, done: () => void) => void,
  ): void;
}

/** Adds the hook to every instance made from now on. */
export function followFastify(): void {
  subscribe('fastify.initialization', (message) => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRequest', (request, reply, done) => {
      Exchange.routeBy(reply.raw, () => request.routeOptions?.url ?? request.routerPath);
      done();
    });
  });
}
