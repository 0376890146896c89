/** The page of a what-if. */
import { openWhatIfPage } from './data/what-if-page';
import { WhatIfApp } from './draw/what-if/app';
import { open } from './open';

open((text) => <WhatIfApp page={openWhatIfPage(text)} />);
