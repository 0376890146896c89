/**
 * Private fields put on objects of others: promises, timers, requests.
 *
 * A constructor that returns its argument lets a subclass install its private fields there. Unlike
 * a symbol such a field is seen by nobody (`util.inspect`, `deepStrictEqual`, proxies, frozen
 * objects), and unlike a WeakMap it costs one store.
 */

/** Base of the stamps: "constructs" the object it is given. */
export class Stamped {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: this is what installs fields elsewhere
    return object;
  }
}
