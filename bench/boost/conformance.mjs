// Is what replays predict what came live? The ratio to the base that a replay tells, beside the
// interval of the live one, of each service and arm that has both.
import { ARMS, BASE_POLICY } from './arms.mjs';
import { TAILS } from './compared.mjs';
import { predictions } from './predicted.mjs';

/**
 * Of services as `[name, results by arm]`, each result as `compared` tells it: `{service, arm,
 * result, energy, tails}`, of each tail `{percentile, predicted, isWithin}`. `predicted` is
 * null where nothing was replayed or run, `isWithin` undefined where live rounds are too few for
 * an interval.
 */
export function conformance(services, folder) {
  const predict = predictions(folder);
  return services.flatMap(([service, results]) => {
    const driven = [...results].filter(([arm]) => ARMS[arm].policy !== BASE_POLICY);
    return driven.map(([arm, result]) => ({
      ...{ service, arm, result, energy: predict(service, arm, 99)?.energy },
      tails: TAILS.map((percentile) => outcome(predict, service, arm, result, percentile)),
    }));
  });
}

function outcome(predict, service, arm, { percentiles }, percentile) {
  const ratio = predict(service, arm, percentile)?.ratio ?? null;
  const live = percentiles.find((one) => one.percentile === percentile);
  if (ratio === null || live === undefined) return { percentile, predicted: null };
  const isWithin = live.low === null ? undefined : ratio >= live.low && ratio <= live.high;
  return { percentile, predicted: ratio, isWithin };
}
