/** Opens the data in the page and draws it; what cannot be read is said instead of a blank page. */
import { render } from 'preact';
import { openPage } from './data/page';
import { App } from './draw/app';

const root = document.getElementById('page');
const data = document.getElementById('data')?.textContent ?? '';
if (root !== null) {
  root.textContent = '';
  try {
    const page = openPage(data);
    render(<App page={page} />, root);
  } catch (error) {
    root.textContent = `This report cannot be shown: ${String(error)}`;
    throw error;
  }
}
