/**
 * How far tuning is, on stderr: a line that is written over on a terminal, else one for each round.
 */
import { describeBudget } from '../../tune/calibration';
import type { RacedArm } from '../../tune/search';
import type { TuneOptions, TuneStep } from '../../tune/tune';
import { StatusLine, tell } from '../console';
import { countOf, formatDuration, formatMebibytes, formatPercentile } from '../text/units';

const NS_PER_MS = 1e6;

/** Tells steps. */
export class TuneProgress {
  readonly #quiet: boolean;
  readonly #status: StatusLine;
  readonly #options: Pick<TuneOptions, 'budget' | 'rounds' | 'proofRounds'>;
  readonly #startMs = performance.now();
  #shownRound = '';

  constructor(quiet: boolean, options: Pick<TuneOptions, 'budget' | 'rounds' | 'proofRounds'>) {
    this.#quiet = quiet;
    this.#status = new StatusLine(quiet);
    this.#options = options;
  }

  show(step: TuneStep): void {
    switch (step.kind) {
      case 'calibrating':
        this.#tell(`  memory ${describeBudget(this.#options.budget)}`);
        this.#status.show('bobtail: measuring the unchanged service');
        break;
      case 'calibrated':
        this.#tellCalibrated(step);
        break;
      case 'running':
        this.#showRun(step);
        break;
      case 'left':
        this.#tellLeft(step.arm);
    }
  }

  end(): void {
    this.#status.clear();
  }

  #tellCalibrated({ calibration, arms }: TuneStep & { kind: 'calibrated' }): void {
    const { rounds, proofRounds } = this.#options;
    const { sample, percentile, runMs, version } = calibration;
    // Two runs of the unchanged service beside the arms, and about half as many arms combined.
    const runs = (arms + 2) * rounds * 1.5 + 3 * proofRounds;
    const parts = [
      `node ${version.replace(/^v/, '')}`,
      `${countOf(sample.requests, 'request')} a round, raced at ${formatPercentile(percentile)}`,
      formatMebibytes(sample.peakRssBytes),
      countOf(arms, 'change'),
      `at most about ${formatDuration(runs * runMs * NS_PER_MS)}`,
    ];
    this.#tell(`  unchanged ${parts.join(' · ')}`);
  }

  #showRun({ stage, at }: TuneStep & { kind: 'running' }): void {
    const { round, rounds, arm, armsLeft } = at;
    const name = { single: 'single changes', combined: 'combinations', proof: 'proof' }[stage];
    const elapsed = formatDuration((performance.now() - this.#startMs) * NS_PER_MS);
    const where = `${name}: round ${round} of at most ${rounds}, ${countOf(armsLeft, 'arm')}`;
    this.#status.show(`bobtail: ${where} · ${arm} · ${elapsed}`);
    if (process.stderr.isTTY !== true && where !== this.#shownRound) {
      this.#shownRound = where;
      this.#tell(`  ${where} · ${elapsed}`);
    }
  }

  #tellLeft({ name, out, samples }: RacedArm): void {
    const after = samples.length === 0 ? '' : ` after ${countOf(samples.length, 'round')}`;
    this.#tell(`  out${after}: ${name}: ${out?.reason}`);
  }

  #tell(line: string): void {
    if (this.#quiet) return;
    this.#status.clear();
    tell(line);
  }
}
