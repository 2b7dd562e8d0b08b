// Models two by two: steps between neighbours of a ranking, and every two models.

import { count, h, pValue, signed } from "./core.js";
import { data } from "./data.js";
import { columnColour, columnInfo, digitsOf, interval, metricSelect, scoreUnit, withInterval } from "./numbers.js";
import { state } from "./state.js";
import { head, rowHead, table } from "./tables.js";

const LEVEL = 0.05; // p below which a difference is significant
const MOST_MODELS = 20; // of which every two are shown

/** @param {Board} board */
export function steps(board) {
  if (!board.steps.length) return null;
  const lower = columnInfo(board.by).lower_is_better;
  /** @type {(step: any) => [number, number | null, number | null]} */
  const advantage = ({ difference, low, high }) =>
    lower ? [-difference, minus(high), minus(low)] : [difference, low, high];
  const sentences = board.steps.map((step) => {
    if (step.difference === null) return h("li", `${step.above} and ${step.below} share no prompt with a score.`);
    const p = step.p_holm ?? step.p,
      significant = p !== null && p < LEVEL;
    const amount = `${withInterval(...advantage(step), digitsOf(board.by))}`;
    const test =
      p === null
        ? "not tested"
        : `p\u00a0${p < 0.001 ? "" : "=\u00a0"}${pValue(p)} (${step.p_holm === null ? "uncorrected" : "Holm"})`;
    return h(
      "li",
      h("b", step.above),
      " is above ",
      h("b", step.below),
      ` by ${amount}, ${significant ? "" : "not significant, "}${test}, ${count(step.prompts, "prompt")}`,
    );
  });
  return [h("h3", `Steps between neighbours in ${columnInfo(board.by).title}`), h("ul.prose.steps", sentences)];
}

/** @param {number} number @param {Board} board */
export function matrix(number, board) {
  const pairs = data.index.pairs.filter((pair) => pair.board === number);
  if (!pairs.length) return null;
  const metrics = board.columns.filter((metric) => pairs.some((pair) => pair.metrics[metric]));
  const metric = metrics.includes(state.metric) ? state.metric : metrics.includes(board.by) ? board.by : metrics[0];
  /** @type {Map<string, PairedDifference>} */
  const differences = new Map();
  for (const pair of pairs) {
    const paired = pair.metrics[metric];
    if (!paired) continue;
    differences.set(JSON.stringify([modelOf(pair.a), modelOf(pair.b)]), paired);
    differences.set(JSON.stringify([modelOf(pair.b), modelOf(pair.a)]), {
      ...paired,
      difference: minus(paired.difference),
      low: minus(paired.high),
      high: minus(paired.low),
    });
  }
  const choice = h("div.controls", metricSelect(metrics, metric, "Score"));
  const test = "p of a sign-flip test, Holm-corrected over the pairs of this score.";
  const basis = `${scoreUnit(metric)}, over the prompts that both have; ${test}`;
  if (board.rows.length > MOST_MODELS)
    return [
      h("h3", "Neighbours"),
      choice,
      h("p.prose.muted", `Mean of the first model less that of the second, ${basis}`),
      pairList(board, pairs, metric),
    ];
  const names = board.rows.map((row) => row.model),
    info = columnInfo(metric),
    digits = digitsOf(metric);
  const most = Math.max(...[...differences.values()].map((pair) => Math.abs(pair.difference ?? 0)), 1e-9);
  const cell = (/** @type {string} */ row, /** @type {string} */ column) => {
    const pair = differences.get(JSON.stringify([row, column]));
    if (row === column || !pair || pair.difference === null) return h("td.n.muted", row === column ? "" : "–");
    const p = pair.p_holm ?? pair.p,
      significant = p !== null && p < LEVEL;
    const better = pair.difference > 0 !== info.lower_is_better;
    const tint = significant && better ? Math.round(10 + (22 * Math.abs(pair.difference)) / most) : 0;
    const amount = signed(pair.difference, digits) + interval(pair.low, pair.high, digits, signed);
    return h(
      tint ? "td.n.tinted" : "td.n",
      {
        "--colour": columnColour(metric),
        "--tint": `${tint}%`,
        title: `${row} less ${column}: ${amount}, ${count(pair.prompts, "prompt")}`,
      },
      h(significant ? "b" : "span", signed(pair.difference, digits)),
      h("div.small", `p ${pValue(p)}`),
    );
  };
  return [
    h("h3", "Every two models"),
    choice,
    h(
      "p.prose.muted",
      `Mean of the row's model less that of the column's, ${basis} `,
      `Bold: p < ${LEVEL}; tinted: the row's model is better.`,
    ),
    table(
      `Every two models, ${board.label}`,
      ".model-pairs",
      [head(info.label, ".first"), ...names.map((name) => head(name, ".n.model-name"))],
      names.map((row) => [rowHead(row), ...names.map((column) => cell(row, column))]),
    ),
  ];
}

/** @param {Board} board @param {ModelPair[]} pairs @param {string} metric */
function pairList(board, pairs, metric) {
  const digits = digitsOf(metric);
  const rows = pairs.map((pair) => {
    const { difference, low, high, p, p_holm: holm, prompts } = pair.metrics[metric];
    return [
      rowHead(modelOf(pair.a)),
      h("td.model-name", modelOf(pair.b)),
      h("td.n", signed(difference, digits) + interval(low, high, digits, signed)),
      h("td.n", pValue(holm ?? p)),
      h("td.n", prompts),
    ];
  });
  const heads = ["Difference", "p (Holm)", "Prompts"].map((text) => head(text, ".n"));
  return table(`Neighbours, ${board.label}`, ".model-pairs", [head("First", ".first"), head("Second"), heads], rows);
}

/** @param {number | null} value */
const minus = (value) => (value === null ? null : -value);

/** @param {string} side "<run position>/<model>" @returns {string} */
const modelOf = (side) => side.slice(side.indexOf("/") + 1);
