/** Checks of values against `spec/*.schema.json`. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { PACKAGE } from './run-bobtail.mjs';

const ajv = new Ajv2020.default({ strict: true, allErrors: true, allowUnionTypes: true });
ajv.addFormat('date-time', (text) => !Number.isNaN(Date.parse(text)));
const compiled = new Map();
/** The schema of another answer that one has inside. */
const INSIDE = { html: 'report', 'diff-html': 'diff' };

function compile(name) {
  if (!compiled.has(name)) {
    if (INSIDE[name] !== undefined) compile(INSIDE[name]);
    const path = join(PACKAGE, '../../spec', `${name}.schema.json`);
    compiled.set(name, ajv.compile(JSON.parse(readFileSync(path, 'utf8'))));
  }
  return compiled.get(name);
}

/** Fails with every place where `value` does not follow the schema. */
export function assertValid(name, value) {
  const validate = compile(name);
  assert.ok(validate(value), ajv.errorsText(validate.errors, { separator: '\n' }));
}
