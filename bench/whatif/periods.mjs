// How often should a policy look? Replays of recordings under Queue Boost and Combined that look as
// often as their period says, between the VEE'19 paper's 1 µs and the slides' 1 ms, whatever that
// costs; and as often as a budget of 1 % pays for.
//
//   node bench/whatif/periods.mjs --recordings DIR --out DIR
import { foldersOf, writeTable } from './replay-table.mjs';

const PERIODS = ['1us', '10us', '50us', '200us', '1ms'];
const TAIL = 99;

await writeTable({
  ...foldersOf('periods.mjs'),
  policies: ['queue-boost', 'combined'],
  columns: [
    ...PERIODS.map((period) => ({
      title: period,
      set: (policy) => `budget=none,policy=${policy}:period=${period}`,
    })),
    { title: 'budget 1 %', set: (policy) => `policy=${policy}` },
  ],
  tail: TAIL,
  title: `p${TAIL} less, and modelled energy, by how often the policy looks`,
});
