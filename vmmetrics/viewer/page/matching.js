// Sides of a comparison, and which of their clips belong together.

import { data } from "./data.js";
import { columnInfo } from "./numbers.js";

const DIGITS = 6; // of differences: more are those of the computer
const BY_NAME = new Intl.Collator("en", { numeric: true });

/**
 * @typedef {object} Side
 * @property {string} key
 * @property {number} run
 * @property {string} model
 * @property {string} folder The model without the name of its run.
 * @property {number[]} rows
 * @property {string} label
 */
/** @typedef {{ key: string, a: number, b: number }} Pair Rows of the two clips; -1 for none. */

/**
 * @param {number} row
 * @returns {string} Its model, without the name of the run that tells it from one of another run.
 */
const folderOf = (row) => {
  const model = data.model(row),
    { name } = data.run(row);
  return model.startsWith(`${name}/`) ? model.slice(name.length + 1) : model;
};

/** @returns {Side[]} Every model of every run, in the order of the runs. */
export const sides = () => {
  const { runs, clips } = data.index;
  /** @type {Map<string, Side>} */
  const sides = new Map();
  for (let row = 0; row < data.n; row++) {
    const run = clips.run[row],
      model = data.model(row),
      key = `${run}/${model}`;
    let side = sides.get(key);
    if (!side) sides.set(key, (side = { key, run, model, folder: folderOf(row), rows: [], label: "" }));
    side.rows.push(row);
  }
  for (const side of sides.values()) {
    const { name } = runs[side.run];
    side.label = runs.length === 1 || side.model.startsWith(name) ? side.model || name : `${side.model} (${name})`;
  }
  return [...sides.values()];
};

/** @param {number} row @returns {string} Prompt with single blanks. */
const promptOf = (row) => data.prompt(row).split(/\s+/).join(" ").trim();

/**
 * @param {number} row
 * @returns {string} Name of a clip without the folder of its model and without its suffix.
 */
const nameInModel = (row) => {
  const name = data.name(row),
    folder = folderOf(row);
  return (folder && name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : name).replace(
    /(?<=[^/])\.[^./]+$/,
    "",
  );
};

/**
 * Pair the clips of two sides: by prompt where every clip that was scored has one, else by name within the model;
 * several clips of one prompt in order of their names.
 * @param {Side} a
 * @param {Side} b
 * @returns {{ pairs: Pair[], by: "prompt" | "name" }} Clips that only one side has are pairs too.
 */
export const matchPairs = (a, b) => {
  const { failed } = data.index.clips;
  const prompted = [...a.rows, ...b.rows].every((row) => failed[row] >= 0 || promptOf(row));
  const keyOf = (/** @type {number} */ row) => (prompted && promptOf(row)) || nameInModel(row);
  /** @param {Side} side */
  const grouped = (side) => {
    /** @type {Map<string, number[]>} */
    const groups = new Map();
    for (const row of side.rows) {
      const key = keyOf(row);
      const group = groups.get(key);
      if (group) group.push(row);
      else groups.set(key, [row]);
    }
    for (const group of groups.values()) group.sort((one, other) => BY_NAME.compare(data.name(one), data.name(other)));
    return groups;
  };
  const [ofA, ofB] = [grouped(a), grouped(b)];
  /** @type {Pair[]} */
  const pairs = [];
  for (const key of new Set([...ofA.keys(), ...ofB.keys()])) {
    const [left, right] = [ofA.get(key) ?? [], ofB.get(key) ?? []];
    for (let k = 0; k < Math.max(left.length, right.length); k++)
      pairs.push({ key, a: left[k] ?? -1, b: right[k] ?? -1 });
  }
  return { pairs, by: prompted ? "prompt" : "name" };
};

/**
 * @param {string} metric
 * @param {{ a: number, b: number }} pair
 * @returns {number} Score of b less that of a; NaN where one is missing.
 */
export const pairDifference = (metric, { a, b }) => {
  const scores = data.scores(metric);
  return a < 0 || b < 0 ? NaN : +(scores[b] - scores[a]).toFixed(DIGITS);
};

/**
 * Order pairs by their difference, the largest loss of b first; those without a difference last.
 * @param {string} metric
 * @param {Pair[]} pairs
 * @param {boolean} gains True for the largest gain of b first.
 * @returns {Pair[]}
 */
export const orderPairs = (metric, pairs, gains) => {
  const sign = columnInfo(metric).lower_is_better !== gains ? -1 : 1;
  return pairs
    .map((pair) => ({ pair, difference: pairDifference(metric, pair) }))
    .sort((one, other) => {
      const missing = Number(Number.isNaN(one.difference)) - Number(Number.isNaN(other.difference));
      return missing || (Number.isNaN(one.difference) ? 0 : sign * (one.difference - other.difference));
    })
    .map(({ pair }) => pair);
};

/**
 * Average differences over pairs of clips, as the means of the leaderboard are over clips.
 * @param {string} metric
 * @param {Pair[]} pairs
 * @returns {{ mean: number | null, scored: number }}
 */
const meanDifference = (metric, pairs) => {
  const differences = pairs
    .map((pair) => pairDifference(metric, pair))
    .filter((difference) => !Number.isNaN(difference));
  const scored = differences.length;
  return { mean: scored ? differences.reduce((sum, value) => sum + value, 0) / scored : null, scored };
};

/** @param {PairedDifference} test @param {number} sign @returns {PairedDifference} */
const turned = (test, sign) => {
  if (sign > 0) return test;
  const less = (/** @type {number | null} */ value) => (value === null ? null : -value);
  return { ...test, difference: less(test.difference), low: less(test.high), high: less(test.low) };
};

/**
 * @param {Side} a
 * @param {Side} b
 * @param {string} metric
 * @returns {PairedDifference | null} Of two models of one board.
 */
const testOfModels = (a, b, metric) => {
  for (const pair of data.index.pairs) {
    if (!pair.metrics[metric]) continue;
    if (pair.a === a.key && pair.b === b.key) return turned(pair.metrics[metric], -1);
    if (pair.a === b.key && pair.b === a.key) return pair.metrics[metric];
  }
  return null;
};

/**
 * @param {Side} a
 * @param {Side} b
 * @param {string} metric
 * @returns {{ test: PairedDifference | null, refused: string | null }}
 */
const testOfRuns = (a, b, metric) => {
  for (const change of data.index.changes) {
    const sign =
      change.before === a.run && change.after === b.run
        ? 1
        : change.before === b.run && change.after === a.run
          ? -1
          : 0;
    if (!sign) continue;
    if (change.refused) return { test: null, refused: change.refused };
    const rows = change.rows.filter((row) => row.metric === metric);
    const row = rows.find(({ model }) => model === a.folder) ?? (rows.length === 1 ? rows[0] : null);
    return { test: row && a.folder === b.folder ? turned(row, sign) : null, refused: null };
  }
  return { test: null, refused: null };
};

/**
 * Compare two sides in one metric, b less a: by the paired test of the report, or where it has none by the mean alone.
 * @param {Side} a
 * @param {Side} b
 * @param {string} metric
 * @param {Pair[]} pairs
 * @returns {{ test: PairedDifference | null, mean: number | null, scored: number, refused: string | null }} The
 *   test is on the scale of the leaderboard, the mean on that of clips.
 */
export const compareSides = (a, b, metric, pairs) => {
  const runs = a.run === b.run ? { test: null, refused: null } : testOfRuns(a, b, metric);
  return {
    test: runs.test ?? (runs.refused ? null : testOfModels(a, b, metric)),
    refused: runs.refused,
    ...meanDifference(metric, pairs),
  };
};
