/** A segment in words: what it is, what it waited for, and who was in the way. */
import type { Segment, SegmentCulprit } from '../../../bobtail/src/cli/json/explanation';
import { jobWords, loopWords, notRunningWords } from '../../../bobtail/src/cli/report/sentences';
import { plain } from '../../../bobtail/src/cli/text/plain';

/** `queue` → `in the queue behind others`, with what is known of it. */
export function segmentWords(segment: Segment): string {
  const parts: string[] = [];
  switch (segment.kind) {
    case 'io':
      parts.push(segment.resource === null ? `waiting for a ${segment.type}` : segment.resource);
      break;
    case 'queue':
      parts.push(`ready, but ${whyNotRun(segment)}`);
      break;
    case 'exec':
      parts.push('its own code ran');
      break;
    case 'unattributed':
      parts.push('not accounted for by the record');
  }
  if (segment.part === 'pool-wait') parts.push('waiting for a pool thread');
  if (segment.part === 'pool-run') parts.push('running in the pool');
  if (segment.shared) parts.push("another request's work");
  return plain(parts.join(', '));
}

/** Why the loop did not run what was ready: by what took most of the time. */
function whyNotRun(segment: Segment): string {
  const [most] = culpritsTogether(segment);
  if (most?.type === 'loop poll') return 'the loop thread was woken late';
  if (most?.type.startsWith('cpu ')) return 'the loop thread got no processor';
  return 'the loop was busy';
}

/** Who it was. */
export function culpritWho(culprit: SegmentCulprit): string {
  if (culprit.type.startsWith('gc ')) return culprit.type.slice(3);
  if (culprit.type.startsWith('loop ')) return 'event loop';
  if (culprit.type.startsWith('cpu ')) return 'not running';
  if (isJob(culprit)) return `job of ${culprit.route ?? 'no request'}`;
  if (culprit.event === 0) return culprit.type;
  return culprit.route ?? 'no request';
}

/** Where it was, or what it did. */
export function culpritWhere(culprit: SegmentCulprit): string {
  const { type } = culprit;
  if (type.startsWith('loop ')) return loopWords(type.slice(5));
  if (type.startsWith('cpu ')) return notRunningWords(type.slice(4));
  if (isJob(culprit)) return jobWords(type.slice(3).trim(), culprit.location);
  if (culprit.event === 0) return '';
  return [type.startsWith('gc ') ? '' : type, culprit.location ?? '']
    .filter((part) => part !== '')
    .join(' ');
}

/** A job that had a thread of the pool. */
function isJob({ type }: SegmentCulprit): boolean {
  return type === 'job' || type.startsWith('job ');
}

/** The longest wait or work of a request and its main cause, in one sentence. */
export function requestVerdict(segments: readonly Segment[]): string {
  const longest = segments.reduce((best, one) => (one.durationNs > best.durationNs ? one : best));
  const [culprit] = culpritsTogether(longest);
  const where = culprit === undefined ? '' : culpritWhere(culprit);
  // Of a run only what interrupted it is told: what is less than half of it is not its cause.
  const isMost = culprit !== undefined && 2 * culprit.durationNs >= longest.durationNs;
  const behind =
    culprit === undefined || !(isMost || longest.kind === 'queue')
      ? ''
      : `, mostly ${longest.kind === 'exec' ? 'in' : 'behind'} ${culpritWho(culprit)} ${where}`;
  return plain(`${segmentWords(longest)}${behind}`.trim());
}

/** Culprits of a segment, those that read the same together, the longest first. */
export function culpritsTogether(segment: Segment): SegmentCulprit[] {
  const together = new Map<string, SegmentCulprit>();
  for (const one of segment.culprits) {
    const pause = one.pause === null ? '' : String(one.pause.startNs);
    const key = [culpritWho(one), culpritWhere(one), pause].join('\0');
    const known = together.get(key);
    const durationNs = one.durationNs + (known?.durationNs ?? 0);
    together.set(key, { ...(known ?? one), durationNs });
  }
  return [...together.values()].sort((a, b) => b.durationNs - a.durationNs);
}
