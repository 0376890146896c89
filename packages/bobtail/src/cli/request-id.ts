/** Ids of requests, as they are typed: `<pid>-<thread>:<number>`. */
import { Failure } from './failure';

/** The id, refused where no request can have it. */
export function parseRequestId(text: string): string {
  if (!/^\d+-\d+:\d+$/.test(text)) {
    throw new Failure('usage', '--request takes an id, such as 4121-0:17', text);
  }
  return text;
}
