/**
 * Which file of which package is patched by what: the one place to add a client.
 *
 * Files are named as they lie below `node_modules`, for each layout a package has had.
 */

import type { Patch } from '../modules';
import { patchKoa } from './koa';
import { patchConnection, patchPool as patchMysqlPool } from './mysql';
import { patchClient, patchCursor, patchPool as patchPgPool } from './pg';
import { patchGenericPool } from './pools';
import { patchRedis } from './redis';

/** Patches by file below `node_modules`. */
export const clients: ReadonlyMap<string, Patch> = new Map([
  ['pg/lib/client.js', patchClient],
  ['pg-pool/index.js', patchPgPool],
  ['pg-cursor/index.js', patchCursor],
  ['mysql2/lib/base/connection.js', patchConnection],
  ['mysql2/lib/base/pool.js', patchMysqlPool],
  ['mysql2/lib/connection.js', patchConnection],
  ['mysql2/lib/pool.js', patchMysqlPool],
  ['mysql/lib/Connection.js', patchConnection],
  ['mysql/lib/Pool.js', patchMysqlPool],
  ['redis/index.js', patchRedis],
  ['generic-pool/lib/generic-pool.js', patchGenericPool],
  ['koa/lib/application.js', patchKoa],
]);
