// Clips of every model by rising score: what the strips of a distribution show.

import { data } from "./data.js";
import { domain } from "./numbers.js";

/** Of the density. */
export const BINS = 64;
const MANY = 100; // dots from which on they spread as their density
const FEWEST = 4; // clips of which quartiles are drawn

/**
 * @typedef {object} Strip Clips of one model.
 * @property {string} name
 * @property {Int32Array} rows By rising score.
 * @property {Float64Array} values Their scores.
 * @property {number[]} missing
 * @property {number[] | null} quartiles
 * @property {Float64Array | null} density By bin of the domain, at most 1.
 *
 * @typedef {{ info: MetricInfo, strips: Strip[], domain: [number, number] }} Panel
 */

/** @param {number} row @returns {number} From -1 to 1, the same for a clip every time. */
export const jitter = (row) => ((Math.imul(row + 1, 2654435761) >>> 8) & 0xffff) / 0x8000 - 1;

/** @param {Float64Array} sorted @param {number} share @returns {number} Quantile, interpolated. */
function quantile(sorted, share) {
  const at = share * (sorted.length - 1),
    below = Math.floor(at);
  return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}

/**
 * Return the density of values in bins of a domain, smoothed; the largest is 1.
 * @param {Float64Array} values
 * @param {[number, number]} domain
 */
function densityOf(values, [low, high]) {
  const counts = new Float64Array(BINS + 2); // an empty bin at both ends
  for (const value of values) counts[1 + binOf(value, [low, high])]++;
  const smooth = counts
    .map((count, bin) => (counts[bin - 1] ?? 0) + 2 * count + (counts[bin + 1] ?? 0))
    .subarray(1, BINS + 1);
  const most = Math.max(...smooth);
  return smooth.map((count) => count / most);
}

/** @param {number} value @param {[number, number]} domain */
export const binOf = (value, [low, high]) =>
  Math.min(BINS - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * BINS)));

/** @returns {{ name: string, rows: number[] }[]} Clips of every model. */
function models() {
  const { models: names, clips } = data.index;
  /** @type {number[][]} */
  const rows = names.map(() => []);
  for (let row = 0; row < data.n; row++) rows[clips.model[row]]?.push(row);
  return names.map((name, model) => ({ name, rows: rows[model] })).filter((model) => model.rows.length);
}

/** @returns {Panel[]} */
export function panels() {
  const groups = models();
  return data.index.metrics.flatMap((info) => {
    const scores = data.scores(info.key);
    const strips = groups.map(({ name, rows }) => {
      const present = rows
        .filter((row) => !Number.isNaN(scores[row]))
        .sort((one, other) => scores[one] - scores[other]);
      const values = Float64Array.from(present, (row) => scores[row]);
      const quartiles = present.length >= FEWEST ? [0.25, 0.5, 0.75].map((share) => quantile(values, share)) : null;
      return {
        name,
        rows: Int32Array.from(present),
        values,
        missing: rows.filter((row) => Number.isNaN(scores[row])),
        quartiles,
        density: /** @type {Float64Array | null} */ (null),
      };
    });
    const ends = strips
      .filter((strip) => strip.values.length)
      .flatMap((strip) => [strip.values[0], strip.values[strip.values.length - 1]]);
    if (!ends.length) return [];
    const axis = info.range ?? domain(ends);
    for (const strip of strips) if (strip.rows.length > MANY) strip.density = densityOf(strip.values, axis);
    return [{ info, strips, domain: axis }];
  });
}

/** @param {Strip} strip @param {string} metric @returns {string} "4 missing", by kind. */
export function missingText(strip, metric) {
  const kinds = new Map();
  for (const row of strip.missing) {
    const { kind } = data.missing(metric, row);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return [...kinds].map(([kind, clips]) => `${clips.toLocaleString("en")} ${kind}`).join(", ");
}

/**
 * @param {Float64Array} sorted
 * @param {number} value
 * @returns {number} First place that is not below a value.
 */
export function firstFrom(sorted, value) {
  let low = 0,
    high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return Math.min(low, Math.max(0, sorted.length - 1));
}
