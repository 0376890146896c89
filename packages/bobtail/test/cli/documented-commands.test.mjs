/** What the documents tell to type is what may be typed: every command, option and gate in them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { parseDocument } from 'yaml';
import { PACKAGE } from './run-bobtail.mjs';
import { argumentsOfBobtail, commandsOf } from './shell-commands.mjs';

const load = createRequire(import.meta.url);
const { buildProgram } = load(join(PACKAGE, 'dist/cli/command-line.js'));
const { parseExport } = load(join(PACKAGE, 'dist/cli/export/selection.js'));
const { parseGate } = load(join(PACKAGE, 'dist/gates/gate.js'));
const { parseDiffGate } = load(join(PACKAGE, 'dist/gates/diff-gate.js'));
const ROOT = join(PACKAGE, '../..');
const TOLD = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
const FOLDERS = ['bench', 'docs', 'examples', 'packages', 'packaging', 'spec', 'workloads'];

function markdownBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      return ['node_modules', 'dist', 'target'].includes(entry.name) ? [] : markdownBelow(path);
    }
    return entry.name.endsWith('.md') ? [path] : [];
  });
}

const DOCUMENTS = [
  ...TOLD.map((name) => join(ROOT, name)),
  ...FOLDERS.flatMap((name) => markdownBelow(join(ROOT, name))),
];

/** Fenced and indented code and its language, and code within lines. */
function codeOf(markdown) {
  const blocks = [];
  const rest = markdown.replace(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm, (_, __, language, text) => {
    blocks.push({ language, text });
    return '';
  });
  for (const [text] of rest.matchAll(/(?:^ {4}.*\n)+/gm)) blocks.push({ language: '', text });
  const spans = [...rest.matchAll(/`([^`\n]+)`/g)].map(([, text]) => text.replaceAll('\\|', '|'));
  return { blocks, spans };
}

/** Parses the words as the command line does, but runs nothing. */
function parse(words) {
  const program = buildProgram();
  for (const command of program.commands) {
    command.action((...given) => {
      const flags = command.opts();
      const parseOne = command.name() === 'diff' ? parseDiffGate : parseGate;
      (flags.failOn ?? []).forEach(parseOne);
      if (command.name() === 'export') parseExport(given[1], flags);
    });
  }
  program.parse(words, { from: 'user' });
}

/** Why a command in a document cannot be typed so; undefined where it can. */
function complaint(words) {
  if (words.length === 0 || words.some((word) => /^(…|\.\.\.|VERB)$/.test(word))) {
    return unknownOption(words);
  }
  try {
    parse(words);
    return undefined;
  } catch (error) {
    return error.code === 'commander.helpDisplayed' || error.code === 'commander.version'
      ? undefined
      : error.message;
  }
}

/** An option that the verb does not have, in what is not whole enough to be parsed. */
function unknownOption([verb, ...words]) {
  const command = buildProgram().commands.find((one) => one.name() === verb);
  if (command === undefined) {
    return undefined;
  }
  const end = words.indexOf('--');
  const own = end === -1 ? words : words.slice(0, end);
  const flags = own.flatMap((word) => /^\[?(--?[a-z][a-z-]*)/.exec(word)?.[1] ?? []);
  const known = (flag) => flag === '--help' || command.options.some((option) => option.is(flag));
  const [unknown] = flags.filter((flag) => !known(flag));
  return unknown === undefined ? undefined : `bobtail ${verb} has no ${unknown}`;
}

const shown = (path) => relative(ROOT, path);

test('every command in a block of code is one that the command line understands', () => {
  const wrong = [];
  let count = 0;
  for (const path of DOCUMENTS) {
    const { blocks } = codeOf(readFileSync(path, 'utf8'));
    for (const { text, language } of blocks.filter((one) => /^(|sh|bash)$/.test(one.language))) {
      for (const words of commandsOf(text)) {
        const given = argumentsOfBobtail(words);
        if (given === undefined) continue;
        count += 1;
        const why = complaint(given);
        if (why !== undefined) wrong.push(`${shown(path)} ${language}: ${given.join(' ')}: ${why}`);
      }
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(count >= 20, String(count));
});

test('every option of a command within a line is one of its verb', () => {
  const verbs = buildProgram().commands.map((command) => command.name());
  const wrong = [];
  let count = 0;
  for (const path of DOCUMENTS) {
    for (const span of codeOf(readFileSync(path, 'utf8')).spans) {
      const [, rest] = /^(?:\w+=\S+ )*(?:sudo )?(?:npx )?(?:bobtail )?(.*)$/.exec(span);
      const words = rest.split(/[\s|[\]]+/).filter((word) => word !== '');
      if (!verbs.includes(words[0]) || words.length === 1) continue;
      count += 1;
      const why = unknownOption(words);
      if (why !== undefined) wrong.push(`${shown(path)}: ${span}: ${why}`);
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(count >= 40, String(count));
});

test('the workflow for GitHub Actions is YAML, and runs what there is', () => {
  const path = join(ROOT, 'docs/guide/ci.md');
  const workflows = codeOf(readFileSync(path, 'utf8')).blocks.filter(
    ({ language }) => language === 'yaml',
  );
  assert.equal(workflows.length, 1);
  const document = parseDocument(workflows[0].text, { strict: true, uniqueKeys: true });
  assert.deepEqual([...document.errors, ...document.warnings], []);
  const workflow = document.toJS();
  assert.deepEqual(Object.keys(workflow).sort(), ['jobs', 'name', 'on']);
  assert.equal(workflow.on, 'pull_request');
  const commands = [];
  for (const { steps, 'runs-on': machine, ...more } of Object.values(workflow.jobs)) {
    assert.deepEqual([machine, more], ['ubuntu-latest', {}]);
    for (const { uses, run, with: inputs, name, if: condition, ...unknown } of steps) {
      assert.deepEqual(unknown, {});
      assert.equal(typeof (uses ?? run), 'string');
      assert.ok(uses === undefined || run === undefined, name);
      if (uses !== undefined) assert.match(uses, /^actions\/[a-z-]+@v\d+$/);
      assert.ok(inputs === undefined || uses !== undefined, name);
      assert.ok(condition === undefined || condition === 'always()', condition);
      commands.push(...commandsOf(run ?? ''));
    }
  }
  const given = commands.map(argumentsOfBobtail).filter((words) => words !== undefined);
  assert.deepEqual(
    given.map(([verb]) => verb),
    ['record', 'report'],
  );
  assert.deepEqual(given.map(complaint), [undefined, undefined]);
  const [record, report] = given;
  assert.deepEqual(record.slice(-2), ['node', 'server.js']);
  assert.equal(report.filter((word) => word === '--fail-on').length, 3);
  assert.equal(report.at(-1), '--markdown', 'what is redirected is no argument');
});

test('what cannot be typed is found', () => {
  const why = (line) => commandsOf(line).map(argumentsOfBobtail).map(complaint)[0];
  assert.match(why('npx bobtail report r --htlm a.html'), /unknown option '--htlm'/);
  assert.match(why("bobtail report r --fail-on 'p99.9<50'"), /takes ns, us, ms or s/);
  assert.match(why('sudo bobtail export r --to svg x # a drawing'), /--to takes a format/);
  assert.match(why('bobtail record'), /missing required argument/);
  assert.match(why('bobtail record --speed … -- node x.js'), /record has no --speed/);
  assert.equal(
    why('A=1 npx bobtail record --on-port "load.sh \\"a b\\"" -- node x --speed 2 > y'),
    undefined,
  );
  const piped = commandsOf('bobtail explain r --json | jq . && echo "a | b" > f');
  assert.deepEqual(piped, [
    ['bobtail', 'explain', 'r', '--json'],
    ['jq', '.'],
    ['echo', 'a | b'],
  ]);
});
