/** The page of a report. */
import { openPage } from './data/page';
import { App } from './draw/app';
import { open } from './open';

open((text) => <App page={openPage(text)} />);
