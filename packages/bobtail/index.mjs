// The library for `import`: the same code as for `require`, so that there is one `Failure` only.
export {
  check,
  checkDiff,
  diff,
  explain,
  explainMany,
  exportRecording,
  Failure,
  read,
  record,
  report,
  writeDiffPage,
  writePage,
} from './dist/index.js';
