/**
 * What is drawn in a timeline, read off the screen: positions become times through two ticks of
 * the axis, so an axis that is wrong is found like a bar that is.
 */
import assert from 'node:assert/strict';

const UNITS = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };

/** Nanoseconds of a text such as `−1.50 ms`, to its three digits. */
export function durationOf(text) {
  const [, minus, value, unit] = /^(−?)([\d.]+) (ns|µs|ms|s)$/.exec(text) ?? assert.fail(text);
  return Number(value) * UNITS[unit] * (minus === '' ? 1 : -1);
}

/** Boxes of all lanes, and the steps of the waiting, with times in nanoseconds. */
export async function drawnTimeline(page) {
  const drawn = await page.locator('.timeline svg').evaluate((svg) => {
    const number = (element, name) => Number(element.getAttribute(name));
    const box = (rect) => ({
      x: number(rect, 'x'),
      width: number(rect, 'width'),
      y: number(rect, 'y'),
      height: number(rect, 'height'),
      classes: rect.getAttribute('class') ?? '',
      own: rect.parentElement.classList.contains('own'),
      title: rect.querySelector('title').textContent,
    });
    const boxes = (selector) => [...svg.querySelectorAll(selector)].map(box);
    return {
      ticks: [...svg.querySelectorAll('.axes > g')].map((tick) => ({
        x: number(tick.querySelector('line'), 'x1'),
        text: tick.querySelector('text').textContent,
      })),
      lanes: [...svg.querySelectorAll('.axes > text')].map((text) => ({
        name: text.textContent,
        middle: number(text, 'y'),
      })),
      runs: boxes('.run rect'),
      interruptions: boxes('[class^="fill-"]'),
      jobs: boxes('.job'),
      path: boxes('.path rect'),
      joints: svg.querySelectorAll('.path line').length,
      waiting: svg.querySelector('.waiting').getAttribute('d'),
    };
  });
  const [first, last] = [drawn.ticks[0], drawn.ticks.at(-1)];
  assert.notEqual(first.x, last.x, 'the axis has two ticks');
  const [fromNs, toNs] = [durationOf(first.text), durationOf(last.text)];
  const nsOfPixel = (toNs - fromNs) / (last.x - first.x);
  const at = (x) => fromNs + (x - first.x) * nsOfPixel;
  const timed = (one) => ({ ...one, beginNs: at(one.x), endNs: at(one.x + one.width) });
  // The last step only closes the area.
  const steps = [...drawn.waiting.matchAll(/H([\d.]+)V([\d.]+)/g)].slice(0, -1);
  return {
    ...drawn,
    nsOfPixel,
    runs: drawn.runs.map(timed),
    interruptions: drawn.interruptions.map(timed),
    jobs: drawn.jobs.map(timed),
    path: drawn.path.map(timed),
    waiting: steps.map(([, x, y]) => ({ atNs: at(Number(x)), y: Number(y) })),
  };
}

/** Boxes are drawn at least so many pixels wide, to be seen. */
const SEEN = { lane: 0.35, path: 1.5 };

/**
 * Drawn boxes must be these, in order: begin and end to a billionth of the span, but for those that
 * are too short for the screen, which only begin where they should.
 */
export function assertBoxes(drawn, expected, { nsOfPixel }, what, seen = 'lane') {
  assert.equal(drawn.length, expected.length, `number of ${what}`);
  const nearNs = nsOfPixel * 1e-3;
  for (const [index, { beginNs, endNs, ...more }] of expected.entries()) {
    const box = drawn[index];
    const told = `${what} ${index}: ${JSON.stringify(box)} for ${JSON.stringify(expected[index])}`;
    assert.ok(Math.abs(box.beginNs - beginNs) <= nearNs, told);
    const leastNs = beginNs + SEEN[seen] * nsOfPixel;
    assert.ok(Math.abs(box.endNs - Math.max(endNs, leastNs)) <= nearNs, told);
    for (const [name, value] of Object.entries(more)) assert.equal(box[name], value, told);
  }
}

/** In which lane a box lies: that whose middle is nearest. */
export function laneOf({ lanes }, { y, height }) {
  const far = ({ middle }) => Math.abs(middle - (y + height / 2));
  return lanes.reduce((best, lane) => (far(lane) < far(best) ? lane : best)).name;
}
