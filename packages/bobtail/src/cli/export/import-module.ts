/**
 * Loads an ES module from CommonJS.
 *
 * The compiler turns `import()` into `require()` in CommonJS, which Node.js before 20.19 refuses
 * for an ES module; a function made from text is left as it is.
 */
const load = new Function('name', 'return import(name)') as (name: string) => Promise<unknown>;

/** The namespace of a package that is an ES module. */
export function importModule(name: string): Promise<unknown> {
  return load(name);
}
