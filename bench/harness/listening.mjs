// When a service of an experiment listens: it prints `{"listening":{"port":…,"pid":…}}`.
// Asking the port instead would be a request that the experiment did not mean to make.

const START_MS_MAX = 60_000;
const KEPT_CHARACTERS = 2000;

/** A service that did not listen: how it ended, if it did, and the end of what it said. */
export class NotListening extends Error {
  constructor(why, errors) {
    super(errors === '' ? why : `${why}: ${errors}`);
    Object.assign(this, { why, errors });
  }
}

/** What `child` tells when it listens; rejects with `NotListening`, also after `msMax`. */
export function listening(child, msMax = START_MS_MAX) {
  return new Promise((resolve, reject) => {
    let [text, errors] = ['', ''];
    const settle = (act) => {
      clearTimeout(limit);
      child.off('exit', onExit);
      act();
    };
    const fail = (why) => settle(() => reject(new NotListening(why, errors.trim())));
    const onExit = (code, signal) => fail(`ended with ${code ?? signal}`);
    const limit = setTimeout(() => fail('does not listen'), msMax);
    child.stderr.on('data', (chunk) => {
      errors = (errors + chunk).slice(-KEPT_CHARACTERS);
    });
    child.stdout.on('data', (chunk) => {
      text = (text + chunk).slice(-KEPT_CHARACTERS);
      const found = /\{"listening":(\{.*?\})\}/.exec(text);
      if (found) settle(() => resolve(JSON.parse(found[1])));
    });
    child.once('exit', onExit);
  });
}
