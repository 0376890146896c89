// What V8 itself takes for calling promise hooks: the two that full detail needs, empty.
'use strict';

const { promiseHooks } = require('node:v8');

promiseHooks.createHook({
  init() {
    return undefined;
  },
  before() {
    return undefined;
  },
});
