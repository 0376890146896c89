/** Puts an AsyncLocalStorage into use; for `--require` before the agent. */
const { AsyncLocalStorage } = require('node:async_hooks');

new AsyncLocalStorage().run('preloaded', () => Promise.resolve());
