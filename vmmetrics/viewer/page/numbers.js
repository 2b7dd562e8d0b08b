// Parts that the views of numbers share: columns, means, scales, plots of intervals.

import { fixed, h, select, svg } from "./core.js";
import { OR_ZERO, colour, data } from "./data.js";
import { rows } from "./filter.js";
import { go } from "./state.js";

const PLOT = { width: 108, height: 14, edge: 6 };

/**
 * Describe a column of a leaderboard; "average" and "motion_index_or_0" are ones that clips do not have.
 * @param {string} key
 * @returns {MetricInfo}
 */
export const columnInfo = (key) =>
  data.metric(key) ??
  (key === OR_ZERO
    ? orZero
    : {
        key,
        label: key === "average" ? "Average" : key,
        title: key === "average" ? "mean of the five" : key,
        range: key === "average" ? [0, 1] : null,
        lower_is_better: false,
        low_is_fault: false,
        colour: key === "average" ? "index" : "own",
        kind: "own",
        unit: "",
      });
/** @type {MetricInfo} */
const orZero = {
  key: OR_ZERO,
  label: "INDEX, collapsed as 0",
  title: "motion index with stills, slide shows and noise as 0",
  range: [0, 1],
  lower_is_better: false,
  low_is_fault: true,
  colour: "index",
  kind: "own",
  unit: "",
};

/** @returns {string[]} Keys of columns; where clips collapsed, the index with theirs as 0 is the first. */
export const columnKeys = () => [
  ...(data.collapsed.size ? [OR_ZERO] : []),
  ...data.index.metrics.map(({ key }) => key),
];

/**
 * @param {string} key
 * @param {string[]} keys Of the columns beside it.
 * @returns {string} Label of a column; of the index of the clips judged where it stands twice.
 */
export const columnLabel = (key, keys) =>
  columnInfo(key).label + (key === "motion_index" && keys.includes(OR_ZERO) ? ", judged" : "");

/** @param {string} key @returns {string} CSS colour of a column. */
export const columnColour = (key) =>
  data.metric(key) ? colour(key) : key === OR_ZERO ? "var(--m-index)" : "var(--muted)";

const LARGE = 100; // score of a clip from which on means have fewer decimals
/** @type {Map<string, number>} */
const digits = new Map();

/** @param {string} key @returns {number} Decimals of means of a column: 1 of large scores, else 3. */
export const digitsOf = (key) => {
  let decimals = digits.get(key);
  if (decimals === undefined) {
    const large = data.metric(key) && data.scores(key).some((score) => Math.abs(score) >= LARGE);
    digits.set(key, (decimals = large ? 1 : 3));
  }
  return decimals;
};

/** @param {string} key @returns {string} Unit or range of a clip's score. */
export const scoreUnit = (key) => {
  const { range, unit } = columnInfo(key);
  return range ? `${range[0]} to ${range[1]}` : unit || "unit not stated";
};

/**
 * @param {number | null} mean
 * @param {number | null | undefined} low
 * @param {number | null | undefined} high
 * @returns {string} "0.452 [0.401, 0.503]"
 */
export const withInterval = (mean, low, high, digits = 3) => fixed(mean, digits) + interval(low, high, digits);

/**
 * @param {number | null | undefined} low
 * @param {number | null | undefined} high
 * @param {number} digits
 * @param {(value: number | null | undefined, digits: number) => string} [text]
 * @returns {string} " [0.401, 0.503]"; "" where there is none.
 */
export const interval = (low, high, digits, text = fixed) =>
  low === null || low === undefined ? "" : ` [${text(low, digits)}, ${text(high, digits)}]`;

/**
 * Return the ends of a scale around values, at round numbers.
 * @param {(number | null | undefined)[]} values
 * @param {[number, number] | null} [limits] Not gone beyond, unless all values lie there; the released scores may.
 * @returns {[number, number]}
 */
export const domain = (values, limits = null) => {
  const numbers = /** @type {number[]} */ (
    values.filter((value) => value !== null && value !== undefined && Number.isFinite(value))
  );
  if (!numbers.length) return limits ?? [0, 1];
  let [low, high] = [Infinity, -Infinity]; // spread over arguments, 100,000 clips are too many
  for (const number of numbers) [low, high] = [Math.min(low, number), Math.max(high, number)];
  if (low === 0 && high === 0) return limits ?? [0, 1];
  const step = 10 ** Math.floor(Math.log10(Math.max(high - low, Math.abs(high) / 100, 1e-6)));
  const ends = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  if (ends[0] === ends[1]) {
    ends[0] -= step;
    ends[1] += step;
  }
  const within = [Math.max(ends[0], limits?.[0] ?? -Infinity), Math.min(ends[1], limits?.[1] ?? Infinity)];
  return /** @type {[number, number]} */ (within[1] > within[0] ? within : ends);
};

/**
 * @param {[number, number]} domain
 * @returns {string[]} Its ends as text, with the decimals that tell them apart.
 */
export const endsOf = ([low, high]) => {
  const decimals = Math.min(6, Math.max(0, -Math.floor(Math.log10(high - low))));
  return [low, high].map((end) => fixed(end, decimals));
};

/**
 * @param {[number, number]} domain
 * @param {number} [count]
 * @returns {number[]} Round numbers within a domain.
 */
export const ticks = ([low, high], count = 5) => {
  const rough = (high - low) / count,
    power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = /** @type {number} */ ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999)) * power;
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++)
    ticks.push(+(k * step).toPrecision(12));
  return ticks;
};

/**
 * Draw a mean and its interval on the scale of its column.
 * @param {{ mean: number | null, low?: number | null, high?: number | null }} cell
 * @param {[number, number]} domain
 * @param {string} metric
 */
export const intervalPlot = (cell, domain, metric, width = PLOT.width) => {
  const { height, edge } = PLOT;
  const at = (/** @type {number} */ value) =>
    edge + ((value - domain[0]) / (domain[1] - domain[0])) * (width - 2 * edge);
  const plot = svg("svg.interval", {
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "aria-hidden": "true",
    "--colour": columnColour(metric),
  });
  plot.append(svg("line.scale", { x1: edge, x2: width - edge, y1: height / 2, y2: height / 2 }));
  if (cell.low !== null && cell.low !== undefined)
    plot.append(
      svg("line.span", { x1: at(cell.low), x2: at(/** @type {number} */ (cell.high)), y1: height / 2, y2: height / 2 }),
    );
  if (cell.mean !== null) plot.append(svg("circle", { cx: at(cell.mean), cy: height / 2, r: 4 }));
  return plot;
};

/** @returns {{ rows: number[], active: boolean }} Rows that the filter shows, and whether it hides any. */
export const filtered = () => {
  const listed = [...rows()];
  return { rows: listed, active: listed.length < data.n };
};

/**
 * Average a metric as leaderboards do, over clips.
 * @param {string} metric
 * @param {number[]} clips Rows.
 * @returns {number | null}
 */
export const meanOf = (metric, clips) => {
  const scores = data.scores(metric),
    present = clips.filter((row) => !Number.isNaN(scores[row]));
  return present.length ? present.reduce((total, row) => total + scores[row], 0) / present.length : null;
};

/** @param {string} key @param {string[]} [keys] Of the columns beside it. @returns {[string, string]} Of a select. */
export const optionOf = (key, keys = []) => {
  const label = columnLabel(key, keys),
    { title } = columnInfo(key);
  return [key, title && title !== label && title !== key ? `${label}, ${title}` : label];
};

/**
 * Make a labelled list of columns of which `state.metric` is chosen.
 * @param {string[]} keys
 * @param {string} chosen
 * @param {string} label
 */
export const metricSelect = (keys, chosen, label) => {
  const options = keys.map((key) => optionOf(key, keys));
  const choose = (/** @type {string} */ metric) => go({ metric }, { replace: true });
  return h("label.choice", `${label} `, select(options, chosen, choose, { "data-key": `select ${label}` }));
};
