// The library for `import`: the same code as for `require`, so that there is one `Failure` only.
export {
  check,
  diff,
  explain,
  explainMany,
  exportRecording,
  Failure,
  read,
  record,
  report,
} from './dist/index.js';
