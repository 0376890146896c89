// Is what replays predict what came live? The ratio to the base that replays tell, beside the
// interval of the live one, of each service and arm that has both.
import { ARMS, BASE_POLICY } from './arms.mjs';
import { TAILS } from './compared.mjs';
import { predictions } from './predicted.mjs';

/**
 * Of services as `[name, results by arm]`, each result as `compared` tells it: `{service, arm,
 * result, predicted, tails}`, of each tail `{percentile, ratio, low, high, isWithin}`. `ratio` is
 * the predicted one, null where nothing was replayed or run; `isWithin` is undefined where live
 * rounds are too few for an interval.
 */
export async function conformance(services, folder) {
  const predict = predictions(folder);
  const cells = services.flatMap(([service, results]) => {
    const driven = [...results].filter(([arm]) => ARMS[arm].policy !== BASE_POLICY);
    return driven.map(([arm, result]) => ({ service, arm, result }));
  });
  return Promise.all(
    cells.map(async (cell) => {
      const predicted = await predict(cell.service, cell.arm);
      const tails = TAILS.map((percentile) => outcome(predicted, cell.result, percentile));
      return { ...cell, predicted, tails };
    }),
  );
}

function outcome(predicted, { percentiles }, percentile) {
  const of = (all) => all?.find((one) => one.percentile === percentile);
  const [told, live] = [of(predicted?.percentiles), of(percentiles)];
  const { ratio = null, low = null, high = null } = told ?? {};
  if (ratio === null || live === undefined) return { percentile, ratio: null, low, high };
  const isWithin = live.low === null ? undefined : ratio >= live.low && ratio <= live.high;
  return { percentile, ratio, low, high, isWithin };
}
