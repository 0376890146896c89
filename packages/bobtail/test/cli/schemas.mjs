/** Checks of values against `spec/*.schema.json`. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { PACKAGE } from './run-bobtail.mjs';

const ajv = new Ajv2020.default({ strict: true, allErrors: true, allowUnionTypes: true });
ajv.addFormat('date-time', (text) => !Number.isNaN(Date.parse(text)));
const compiled = new Map();

/** Fails with every place where `value` does not follow the schema. */
export function assertValid(name, value) {
  if (!compiled.has(name)) {
    const path = join(PACKAGE, '../../spec', `${name}.schema.json`);
    compiled.set(name, ajv.compile(JSON.parse(readFileSync(path, 'utf8'))));
  }
  const validate = compiled.get(name);
  assert.ok(validate(value), ajv.errorsText(validate.errors, { separator: '\n' }));
}
