// What are more looks worth? Replays of recordings under Combined and `deadline` that may spend a
// quarter of a per cent of the time that the loop works on looking, up to as much as they like.
//
//   node bench/whatif/budgets.mjs --recordings DIR --out DIR
import { foldersOf, writeTable } from './replay-table.mjs';

const BUDGETS = ['0.25', '0.5', '1', '2', 'none'];
const TAIL = 99;

await writeTable({
  ...foldersOf('budgets.mjs'),
  policies: ['combined', 'deadline'],
  columns: BUDGETS.map((budget) => ({
    title: budget,
    set: (policy) => `budget=${budget},policy=${policy}`,
  })),
  tail: TAIL,
  title: `p${TAIL} less, and modelled energy, by the budget of looking in per cent`,
});
