/** Opens the data in a page and draws it; what cannot be read is said instead of a blank page. */
import { type ComponentChild, render } from 'preact';

/** `draw` is given the data as it is in the file. */
export function open(draw: (text: string) => ComponentChild): void {
  const root = document.getElementById('page');
  const data = document.getElementById('data')?.textContent ?? '';
  if (root === null) return;
  root.textContent = '';
  try {
    render(draw(data), root);
  } catch (error) {
    root.textContent = `This page cannot be shown: ${String(error)}`;
    throw error;
  }
}
