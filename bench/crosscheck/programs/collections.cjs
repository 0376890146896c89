// Allocates much and keeps some of it for a while: scavenges, incremental marking, mark-compacts.
'use strict';

const { serve } = require('./serve.cjs');

const KEPT = 160;
const kept = [];

serve((turn) => {
  let sum = 0;
  const rows = [];
  for (let i = 0; i < 12_000; i += 1) {
    const row = { id: i, name: `row-${turn}-${i}`, values: [i, turn, i ^ turn] };
    sum += row.values[2] + row.name.length;
    if (i % 4 === 0) rows.push(row);
  }
  kept[turn % KEPT] = rows;
  return sum;
});
