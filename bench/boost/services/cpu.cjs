// No I/O but that of its requests.
'use strict';

const { start } = require('./application.cjs');

start(async () => async () => undefined);
