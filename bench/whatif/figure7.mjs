// Figure 7 of VEE'19: tail against energy of every scheme, as the paper has it, in replays and
// live, as one SVG, with the paper's axes.
//
//   node bench/whatif/figure7.mjs --replays DIR --live DIR [--live DIR] [--tail 99.9] --out FILE
//
// Replays are those of `schemes.mjs`, live rounds those of `bench/boost/run.mjs`: of several
// folders a service is taken from the last that has it. What is drawn is the mean (of replays over
// recordings, live over services) of how much shorter the percentile is, which is p99.9 in the
// paper; of a recording that has too few requests for it nothing is known.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { scaleLinear, scaleLog } from 'd3-scale';
import { ARMS, BASE } from '../boost/arms.mjs';
import { cellsInAll, energyOf, pooled } from '../boost/cells.mjs';
import { TAILS } from '../boost/compared.mjs';
import { mean } from '../harness/statistics.mjs';
import { outcomeOf, SCHEMES } from './schemes-list.mjs';

const { values } = parseArgs({
  options: {
    replays: { type: 'string' },
    live: { type: 'string', multiple: true },
    tail: { type: 'string', default: '99.9' },
    out: { type: 'string' },
  },
});
const TAIL = Number(values.tail);
if (Object.keys(values).length < 4 || !TAILS.includes(TAIL)) {
  const usage = '--replays DIR --live DIR [--live DIR] [--tail 99.9|99] --out FILE';
  process.stderr.write(`usage: node bench/whatif/figure7.mjs ${usage}\n`);
  process.exit(64);
}

/** Schemes in the paper: `{name, less, energy}`, less in per cent. */
function ofPaper() {
  const told = Object.entries(SCHEMES).filter(([, { paper }]) => typeof paper?.[0] === 'number');
  return told.map(([name, { paper }]) => ({ name, less: paper[0], energy: paper[1] }));
}

function ofReplays(folder) {
  const files = readdirSync(folder).filter((file) => /^\w+-\d+\.json$/.test(file));
  const answers = files.map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')));
  return Object.entries(SCHEMES)
    .filter(([, { policy }]) => policy !== undefined)
    .flatMap(([name, { policy }]) => {
      const own = answers.map((answer) => outcomeOf(answer, policy));
      // Older runs lack what came later.
      if (own.includes(undefined)) return [];
      const changeOf = ({ percentiles }) => {
        return percentiles.find(({ percentile }) => percentile === TAIL)?.change;
      };
      const changes = own.map(changeOf).filter((change) => Number.isFinite(change));
      if (changes.length === 0) return [];
      // Of all, also of those that have too few requests for this percentile.
      const energy = mean(own.map((one) => one.policy.energy));
      return [{ name, less: -100 * mean(changes), energy }];
    });
}

function ofLive(folders) {
  const services = [...cellsInAll(folders)]
    .filter(([service]) => !service.endsWith('-cluster'))
    .map(([, { arms }]) => arms);
  const tailMs = (cells) => pooled(cells).percentileMs(TAIL);
  const names = Object.keys(ARMS).filter((arm) => ARMS[arm].policy !== ARMS[BASE].policy);
  return names.flatMap((arm) => {
    const own = services.filter((arms) => arms.has(arm));
    // A mean of fewer services is another figure.
    if (own.length < services.length) return [];
    const less = own.map((arms) => 100 * (1 - tailMs(arms.get(arm)) / tailMs(arms.get(BASE))));
    const energies = own.map((arms) => mean(arms.get(arm).map(energyOf)));
    return [{ name: ARMS[arm].label, less: mean(less), energy: mean(energies) }];
  });
}

const SIZE = { width: 980, height: 620, left: 60, right: 120, top: 50, bottom: 60 };
const x = scaleLinear([0, 70], [SIZE.left, SIZE.width - SIZE.right]);
const y = scaleLog([0.015, 2], [SIZE.height - SIZE.bottom, SIZE.top]);
/** Told apart in black and white, too. */
const KINDS = {
  paper: { color: '#8a5a00', mark: 'M-5-5H5V5H-5Z', fill: 'none', title: 'paper, p99.9' },
  replayed: {
    color: '#0b62a3',
    mark: 'M0-5A5 5 0 1 1 0 5A5 5 0 1 1 0-5Z',
    fill: 'none',
    title: `replayed, p${TAIL}`,
  },
  live: { color: '#b3261e', mark: 'M0-6L6 0L0 6L-6 0Z', fill: '#b3261e', title: `live, p${TAIL}` },
};
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** A text at a place; `anchor` is start, middle or end. */
function textAt([atX, atY], text, anchor = 'start', more = '') {
  return `<text x="${atX}" y="${atY}" text-anchor="${anchor}"${more}>${escaped(text)}</text>`;
}

const line = ([x1, y1], [x2, y2]) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}"/>`;

function axes() {
  const { left, right, top } = SIZE;
  const [end, bottom] = [SIZE.width - right, SIZE.height - SIZE.bottom];
  const premiums = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2];
  const horizontal = premiums.map((one) => {
    const label = (1 + one).toFixed(one < 0.1 ? 2 : 1);
    return line([left, y(one)], [end, y(one)]) + textAt([left - 8, y(one) + 4], label, 'end');
  });
  const vertical = x.ticks(7).map((one) => {
    return (
      line([x(one), top], [x(one), bottom]) + textAt([x(one), bottom + 18], `${one} %`, 'middle')
    );
  });
  const title = `reduction of p${TAIL} (of the paper, of p99.9)`;
  const below = textAt([(left + end) / 2, SIZE.height - 18], title, 'middle');
  const energy = 'energy, modelled, by that of 2.6 GHz (its premium on a logarithmic scale)';
  const turned = ` transform="rotate(-90 16 ${(top + bottom) / 2})"`;
  const beside = textAt([16, (top + bottom) / 2], energy, 'middle', turned);
  return `<g class="axes">${[...vertical, ...horizontal, below, beside].join('\n')}</g>`;
}

function markAt([atX, atY], { color, mark, fill }, inside) {
  const at = `translate(${atX.toFixed(1)} ${atY.toFixed(1)})`;
  const path = `<path d="${mark}" stroke="${color}" fill="${fill}"/>`;
  return `<g transform="${at}">${path}${inside}</g>`;
}

/** Where a name may stand beside its mark, best first. */
const PLACES = [
  [9, 4, 'start'],
  [-9, 4, 'end'],
  [9, -9, 'start'],
  [9, 17, 'start'],
  [-9, -9, 'end'],
  [-9, 17, 'end'],
  [9, -22, 'start'],
  [9, 30, 'start'],
  [-9, 30, 'end'],
  [9, 43, 'start'],
];
const CHARACTER = { width: 6.6, height: 12 };
const touches = (one, other) => {
  const apart = (low, high) => one[high] < other[low] || other[high] < one[low];
  return !apart('left', 'right') && !apart('top', 'bottom');
};

function boxOf([atX, atY], [dx, dy, anchor], text) {
  const width = text.length * CHARACTER.width;
  const left = atX + dx - (anchor === 'end' ? width : 0);
  return { left, right: left + width, top: atY + dy - CHARACTER.height, bottom: atY + dy + 2 };
}

/** A mark that lies on one before it has no name beside it, but when it is pointed at. */
const ON_PX = 4;
const isOn = ([atX, atY], [otherX, otherY]) => Math.hypot(atX - otherX, atY - otherY) < ON_PX;

/** All marks, and the names where they touch neither marks nor each other, as far as that goes. */
function points(all) {
  const marks = all.map((one) => {
    return { ...one, at: [x(one.less), y(one.energy - 1)] };
  });
  const taken = marks.map(({ at: [atX, atY] }) => {
    return { left: atX - 6, right: atX + 6, top: atY - 6, bottom: atY + 6 };
  });
  const drawn = marks.map(({ kind, name, less, energy, at }, n) => {
    const figures = `${less.toFixed(1)} % less for ${energy.toFixed(3)}`;
    const about = `<title>${escaped(`${name}: ${figures}`)}</title>`;
    if (marks.slice(0, n).some((one) => one.kind === kind && isOn(at, one.at))) {
      return markAt(at, KINDS[kind], about);
    }
    const others = taken.filter((_, one) => one >= marks.length || !isOn(at, marks[one].at));
    const isFree = (place) => !others.some((one) => touches(one, boxOf(at, place, name)));
    const place = PLACES.find(isFree) ?? PLACES[0];
    taken.push(boxOf(at, place, name));
    const [dx, dy, anchor] = place;
    const told = textAt([dx, dy], name, anchor, ` style="fill:${KINDS[kind].color}"`);
    return markAt(at, KINDS[kind], about + told);
  });
  return drawn.join('\n');
}

function legend() {
  const each = Object.values(KINDS).map((kind, n) => {
    return markAt([SIZE.left + 12 + n * 190, 24], kind, textAt([12, 4], kind.title));
  });
  return each.join('\n');
}

const style = [
  'text{font:12px sans-serif;fill:#333}',
  '.axes line{stroke:#ddd}',
  '.axes text{fill:#555}',
  'path{stroke-width:1.6}',
].join('');
const size = `viewBox="0 0 ${SIZE.width} ${SIZE.height}"`;
const label = 'role="img" aria-label="Tail reduction against energy"';
const parts = [
  `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${label}>`,
  `<style>${style}</style><rect width="100%" height="100%" fill="#fff"/>`,
  axes(),
  legend(),
  points([
    ...ofPaper().map((one) => ({ ...one, kind: 'paper' })),
    ...ofReplays(values.replays).map((one) => ({ ...one, kind: 'replayed' })),
    ...ofLive(values.live).map((one) => ({ ...one, kind: 'live' })),
  ]),
  '</svg>',
];
writeFileSync(values.out, `${parts.join('\n')}\n`);
