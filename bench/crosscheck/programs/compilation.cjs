// Compiles code that was never seen before, as template engines and schema validators do, and runs
// some of it long enough to be optimized.
'use strict';

const { serve } = require('./serve.cjs');

function source(turn, n) {
  const lines = Array.from(
    { length: 12 },
    (_, i) => `if ((x + ${i}) % ${i + 2} === ${turn % 7}) y += x * ${n + i} - ${turn};`,
  );
  return `let y = 0; for (let x = 0; x < limit; x += 1) { ${lines.join('\n')} } return y;`;
}

serve((turn) => {
  let sum = 0;
  for (let n = 0; n < 12; n += 1) {
    const compiled = new Function('limit', source(turn, n));
    sum += compiled(n % 4 === 0 ? 3000 : 30);
  }
  return sum;
});
