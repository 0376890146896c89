/** The page of a difference. */
import { openDiffPage } from './data/diff-page';
import { DiffApp } from './draw/diff/app';
import { open } from './open';

open((text) => <DiffApp page={openDiffPage(text)} />);
