// Holds the properties of the code itself that a reviewer should not have to look for: sizes,
// module sentences, words that hide a concept, and what each crate may depend on.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { root } from './steps.mjs';

const LINE_COLUMNS_MAX = 100;
const FILE_LINES_MAX = 500;
const BLOB_BYTES_MAX = 256 * 1024;
const VAGUE_NAME = /^(utils?|helpers?|manager|misc|common)\./;
/** Paths of one machine and of its folders; a project file that names one is useless elsewhere. */
const MACHINE_PATH = /(^|[^A-Za-z0-9_.$])\/(work|root|home\/[a-z]+)\//;
/** Crates that read no clock, no file, no randomness: what each may depend on. */
const PURE = {
  'bobtail-trace': ['thiserror'],
  'bobtail-graph': ['bobtail-trace', 'thiserror'],
  'bobtail-breakdown': ['bobtail-trace', 'bobtail-graph', 'hdrhistogram', 'serde', 'thiserror'],
  'bobtail-export': [
    'bobtail-trace',
    'bobtail-graph',
    'bobtail-breakdown',
    'flate2',
    'hdrhistogram',
    'prost',
    'serde',
    'serde_json',
    'thiserror',
  ],
  'bobtail-policy': ['libm', 'serde', 'thiserror'],
  'bobtail-sim': [
    'bobtail-trace',
    'bobtail-graph',
    'bobtail-breakdown',
    'bobtail-policy',
    'serde',
    'libm',
    'strsim',
    'thiserror',
  ],
};
/** Calls by which a pure crate would reach outside itself. */
const IMPURE_CALL = /\b(SystemTime|Instant)::now|std::(fs|net|env|process)::|thread_rng/;
/** What each machine's own library rounds: what decides and replays takes them from `libm`. */
const INEXACT_CALL = /\.(powf|powi|exp2?|exp_m1|ln|ln_1p|log|log2|log10|sin|cos|tan|cbrt|hypot)\(/;

const problems = [];
const complain = (file, line, text) => problems.push(`${file}${line ? `:${line}` : ''}: ${text}`);

function checkLines(file, lines) {
  lines.forEach((line, index) => {
    const at = index + 1;
    if (line.length > LINE_COLUMNS_MAX && !/https?:\/\//.test(line)) {
      complain(file, at, `${line.length} columns (at most ${LINE_COLUMNS_MAX})`);
    }
    if (/\b(TODO|FIXME|XXX)\b/.test(line) && file !== 'scripts/tidy.mjs') {
      complain(file, at, 'left to do: mend it or write it into the docs');
    }
    if (/catch\s*(\([^)]*\))?\s*\{\s*\}/.test(line)) complain(file, at, 'empty catch');
  });
  if (lines.length > FILE_LINES_MAX) {
    complain(file, 0, `${lines.length} lines (at most ${FILE_LINES_MAX}): one concept per file`);
  }
}

function checkModuleSentence(file, lines) {
  const first = lines.find((line) => line.trim() !== '' && !line.startsWith('#!')) ?? '';
  const isSentence = file.endsWith('.rs') ? first.startsWith('//!') : /^(\/\/|\/\*)/.test(first);
  const usesStrict = /^'use strict'/.test(first);
  if (!isSentence && !usesStrict) complain(file, 1, 'no sentence that says what the module is for');
}

function checkPureSource(file, lines) {
  if (!/^crates\/(trace|graph|breakdown|export|policy|sim)\/src\//.test(file)) return;
  lines.forEach((line, index) => {
    if (IMPURE_CALL.test(line)) complain(file, index + 1, 'a pure crate reaches outside itself');
    if (/^crates\/(policy|sim)\//.test(file) && INEXACT_CALL.test(line)) {
      complain(file, index + 1, 'not the same on every machine: take it from libm');
    }
  });
}

function checkFile(file) {
  const extension = extname(file);
  if (VAGUE_NAME.test(basename(file))) complain(file, 0, 'a name that says nothing');
  const bytes = readFileSync(`${root}/${file}`);
  if (bytes.length > BLOB_BYTES_MAX && !/^(spec\/vectors|bench\/runs|package-lock)/.test(file)) {
    complain(file, 0, `${bytes.length} bytes (at most ${BLOB_BYTES_MAX})`);
  }
  if (bytes.includes(0)) return;
  const lines = bytes.toString('utf8').split('\n');
  lines.forEach((line, index) => {
    if (MACHINE_PATH.test(line) && file !== 'scripts/tidy.mjs') {
      complain(file, index + 1, 'names a path of one machine');
    }
  });
  if (!['.rs', '.ts', '.mjs', '.cjs', '.js'].includes(extension)) return;
  checkLines(file, lines);
  checkModuleSentence(file, lines);
  checkPureSource(file, lines);
}

/** Each invariant names what holds it as `file: name`; both must be there. */
function checkInvariants(file) {
  const lines = readFileSync(`${root}/${file}`, 'utf8').split('\n');
  const first = lines.findIndex((line) => line.startsWith('| invariant'));
  if (first < 0) complain(file, 0, 'no table of invariants');
  for (const [index, line] of lines.entries()) {
    if (index < first + 2 || !line.startsWith('|')) continue;
    const holders = [...line.matchAll(/`([\w./-]+\.\w+): ([^`]+)`/g)];
    if (holders.length === 0) complain(file, index + 1, 'an invariant that no test holds');
    for (const [, path, name] of holders) {
      const isThere = existsSync(`${root}/${path}`);
      if (!isThere || !readFileSync(`${root}/${path}`, 'utf8').includes(name)) {
        complain(file, index + 1, `no ${name} in ${path}`);
      }
    }
  }
}

/** Pure crates depend on pure ones only, and no crate needs a newer Rust than is asked for. */
function checkDependencies() {
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 };
  const { packages } = JSON.parse(
    execFileSync('cargo', ['metadata', '--format-version=1', '--locked'], options),
  );
  const minor = (version) => Number(version?.split('.')[1] ?? 0);
  const asked = packages.find(({ name }) => name === 'bobtail-trace').rust_version;
  for (const crate of packages) {
    if (minor(crate.rust_version) > minor(asked)) {
      complain('Cargo.toml', 0, `${crate.name} needs Rust ${crate.rust_version}, not ${asked}`);
    }
    const allowed = PURE[crate.name];
    if (!allowed) continue;
    for (const dependency of crate.dependencies) {
      if (dependency.kind === null && !allowed.includes(dependency.name)) {
        complain(`crate ${crate.name}`, 0, `may not depend on ${dependency.name}`);
      }
    }
  }
}

const list = ['ls-files', '--cached', '--others', '--exclude-standard'];
const files = execFileSync('git', list, { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter(Boolean);
for (const file of new Set(files)) if (existsSync(`${root}/${file}`)) checkFile(file);
checkInvariants('ARCHITECTURE.md');
checkDependencies();
for (const problem of problems) process.stdout.write(`${problem}\n`);
process.stdout.write(`tidy: ${files.length} files, ${problems.length} problems\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
