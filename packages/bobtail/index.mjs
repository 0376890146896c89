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
  whatIf,
  writeDiffPage,
  writePage,
  writeWhatIfPage,
} from './dist/index.js';
