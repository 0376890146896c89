// Reads what callgrind wrote: instructions of each function itself and with what it called, and how
// often it was called.
//
// A reader of our own, because callgrind_annotate cuts names, merges threads, and does not tell the
// calls of a function. Format: https://valgrind.org/docs/manual/cl-format.html
import { readFileSync } from 'node:fs';

const NAMED = /^(c?)(fn|ob|fi|fe|fl)=\((\d+)\)(?: (.*))?$/;

/** Takes a function, object or file by its number, which is followed by its name only once. */
class Names {
  #names = new Map();

  take(number, name) {
    if (name !== undefined) this.#names.set(number, name);
    return this.#names.get(number) ?? '';
  }
}

/**
 * @returns {Map<string, {object, name, self, inclusive, calls}>} by `object name`; `self` and
 *   `inclusive` in instructions, the latter counted several times in a function that calls itself
 */
export function readProfile(path) {
  const functions = new Names();
  const objects = new Names();
  const found = new Map();
  const at = (object, name) => {
    const key = `${object} ${name}`;
    if (!found.has(key)) found.set(key, { object, name, self: 0, inclusive: 0, calls: 0 });
    return found.get(key);
  };
  let object = '';
  let name = '';
  let calledObject;
  let calledName = '';
  let called;
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const named = NAMED.exec(line);
    if (named) {
      const [, called, what, number, text] = named;
      if (what === 'fn') {
        const value = functions.take(number, text);
        if (called) calledName = value;
        else name = value;
      } else if (what === 'ob') {
        const value = objects.take(number, text);
        if (called) calledObject = value;
        else object = value;
      }
    } else if (line.startsWith('calls=')) {
      called = at(calledObject ?? object, calledName);
      called.calls += Number(line.slice(6).split(' ', 1)[0]);
      calledObject = undefined;
    } else if (/^[+*\-\d]/.test(line)) {
      const cost = Number(line.split(' ').at(-1));
      // The line behind `calls=` is the cost of what is called.
      if (called) called.inclusive += cost;
      else at(object, name).self += cost;
      called = undefined;
    }
  }
  return found;
}
