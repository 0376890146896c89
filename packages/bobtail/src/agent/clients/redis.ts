/**
 * Redis by `redis` 3 and older: commands wait for their replies in a queue, in JavaScript.
 *
 * All commands pass `internal_send_command`, as an object that holds the callback. Newer clients
 * (`redis` 4 and later, `ioredis`) answer by promises, which need no help.
 */

import { type AnyFunction, bind } from '../bind';
import { replace } from '../disguise';
import { recorder } from '../recorder';

interface Command {
  callback?: unknown;
}

/** Patches `redis/index.js`; newer versions have no such method and are left alone. */
export function patchRedis(exported: unknown): void {
  const client = (exported as { RedisClient?: { prototype: object } }).RedisClient?.prototype;
  const original = client && (Reflect.get(client, 'internal_send_command') as AnyFunction);
  if (client === undefined || typeof original !== 'function') return;
  function internalSendCommand(this: unknown, command: Command | undefined): unknown {
    if (recorder.stream !== undefined && typeof command?.callback === 'function') {
      command.callback = bind(command.callback as AnyFunction);
    }
    // biome-ignore lint/complexity/noArguments: passes on exactly what it was given
    return Reflect.apply(original as AnyFunction, this, arguments);
  }
  replace(client, 'internal_send_command', internalSendCommand);
}
