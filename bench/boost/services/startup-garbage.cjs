// Preloaded before a service: as many objects as `STARTUP_ROWS` says, which nobody keeps, so that
// V8's first collections come at other moments than without.
'use strict';

Array.from({ length: Number(process.env.STARTUP_ROWS) }, (_, row) => ({ row, of: [row] }));
