/** JUnit files read by an XML parser that is none of ours. */
import assert from 'node:assert/strict';
import { SaxesParser } from 'saxes';

/** The element names and attributes of well-formed XML; fails where it is not. */
export function elementsOf(xml) {
  const parser = new SaxesParser();
  const elements = [];
  parser.on('error', (error) => assert.fail(error));
  parser.on('opentag', ({ name, attributes }) => elements.push({ name, ...attributes }));
  parser.write(xml).close();
  return elements;
}
