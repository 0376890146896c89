/**
 * Gives a wrapper the outward appearance of the function it stands for.
 *
 * Name, length and own properties (such as `util.promisify.custom`, an accessor) are copied as
 * descriptors, because assigning them would call getters and lose what is not enumerable.
 */

type AnyFunction = (...args: never[]) => unknown;

/** Returns `wrapper` with the own properties of `original`. */
export function disguise<F extends AnyFunction>(wrapper: F, original: AnyFunction): F {
  const properties = Object.getOwnPropertyDescriptors(original) as PropertyDescriptorMap;
  const own = Object.getOwnPropertyDescriptors(wrapper) as PropertyDescriptorMap;
  // A prototype of its own can not be dropped, and an arrow or method must not get one.
  if (!('prototype' in own)) delete properties.prototype;
  return Object.defineProperties(wrapper, properties);
}

/** Replaces `target[name]` by `wrapper`, keeping the attributes of the property. */
export function replace(target: object, name: string, wrapper: AnyFunction): void {
  const original = Reflect.get(target, name) as AnyFunction;
  const attributes = Object.getOwnPropertyDescriptor(target, name);
  Object.defineProperty(target, name, {
    value: disguise(wrapper, original),
    writable: attributes?.writable ?? true,
    enumerable: attributes?.enumerable ?? false,
    configurable: attributes?.configurable ?? true,
  });
}
