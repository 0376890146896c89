// Shows the whole observe flow on the bundled service: build, record under load, report, explain.
import { build } from './build.mjs';
import { step } from './steps.mjs';

await build();
await step('demo', process.execPath, ['workloads/demo/demo.mjs']);
