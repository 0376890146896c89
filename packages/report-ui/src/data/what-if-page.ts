/** What the page of a what-if is given: the answer itself (`spec/whatif.schema.json`). */
import type { WhatIf } from '../../../bobtail/src/cli/json/what-if';
import type { Meta } from './page';

/** The same, with where it came from. */
export interface WhatIfPage {
  readonly meta: Meta;
  readonly answer: WhatIf;
}

/** Reads the data in the file. */
export function openWhatIfPage(text: string): WhatIfPage {
  const { meta, page } = JSON.parse(text) as { meta: Meta; page: WhatIf };
  return { meta, answer: page };
}
