// The gallery as a table: one line per clip, all scores in columns.

import { h } from "./core.js";
import { colour, data } from "./data.js";
import { go, link, state as current } from "./state.js";

/**
 * @typedef {object} TableColumn
 * @property {string} sort
 * @property {string} label
 * @property {string} title
 * @property {number} least Width in rem.
 * @property {number} grow
 * @property {boolean} number
 * @property {string} colour
 * @property {(row: number) => HTMLElement} cell
 */

/** @param {string} text @param {string} [title] @returns {HTMLElement} */
const words = (text, title = text) => h("span.cut", { text, title });

/** @param {MetricInfo} metric @returns {TableColumn} */
function scoreColumn(metric) {
  const values = data.scores(metric.key),
    [low, high] = metric.range ?? [0, 0];
  return {
    sort: metric.key,
    label: metric.label,
    title: metric.title,
    least: 5.5,
    grow: 0,
    number: true,
    colour: colour(metric.key),
    cell: (row) => {
      const { reason } = data.missing(metric.key, row);
      const share = high > low && !reason ? Math.max(0, Math.min(1, (values[row] - low) / (high - low))) : 0;
      return h("span.n.value", {
        text: data.shown(metric.key, row),
        title: reason || data.place(metric.key, row) || null,
        "--share": share,
        "--colour": colour(metric.key),
      });
    },
  };
}

/** @returns {TableColumn[]} */
function columns() {
  const { runs, metrics, prompts } = data.index;
  /**
   * @param {string} sort
   * @param {string} label
   * @param {number} least
   * @param {number} grow
   * @param {(row: number) => string} text
   * @returns {TableColumn}
   */
  const textColumn = (sort, label, least, grow, text) => ({
    sort,
    label,
    title: "",
    least,
    grow,
    number: false,
    colour: "",
    cell: (row) => words(text(row)),
  });
  return [
    {
      ...textColumn("name", "Clip", innerWidth < 600 ? 8 : 13, 2, (row) => data.name(row)),
      cell: (row) =>
        h("a.cut", {
          href: link({ view: "clip", clip: data.id(row), frame: 0 }),
          tabindex: -1,
          text: data.name(row),
          title: data.name(row),
        }),
    },
    textColumn("model", "Model", 7, 1, (row) => data.model(row)),
    ...metrics.map(scoreColumn),
    {
      sort: "frames",
      label: "Frames",
      title: "",
      least: 5,
      grow: 0,
      number: true,
      colour: "",
      cell: (row) => h("span.n", { text: data.frames(row) || "–" }),
    },
    ...(runs.length > 1 ? [textColumn("run", "Run", 6, 1, (row) => data.run(row).name)] : []),
    ...(prompts.length ? [textColumn("prompt", "Prompt", 16, 3, (row) => data.prompt(row))] : []),
  ];
}

/**
 * @param {State} state
 * @param {TableColumn} column
 * @returns {Partial<State>} Sorts by it, or turns the order round.
 */
const sorted = (state, column) => ({ sort: column.sort, desc: state.sort === column.sort && !state.desc });

/**
 * Make the header and the maker of lines.
 * @param {State} state
 */
export const clipTable = (state) => {
  const shown = columns(),
    least = shown.reduce((sum, column) => sum + column.least, 0);
  const template = shown.map((column) => `minmax(${column.least}rem, ${column.grow}fr)`).join(" ");
  const header = h(
    "div.line",
    { role: "row", "aria-rowindex": 1 },
    shown.map((column, position) => {
      const active = state.sort === column.sort;
      return h(
        column.number ? "div.n" : "div",
        {
          role: "columnheader",
          "aria-colindex": position + 1,
          "aria-sort": active ? (state.desc ? "descending" : "ascending") : "none",
        },
        h(
          "button",
          {
            type: "button",
            title: column.title || column.label,
            "--colour": column.colour || null,
            onclick: () => go(sorted(current, column)),
          },
          column.label,
          h("span.arrow", { "aria-hidden": "true", text: active ? (state.desc ? " ↓" : " ↑") : "" }),
        ),
      );
    }),
  );
  return {
    header,
    template,
    least,
    columns: shown.length,
    /** @param {number} row @returns {HTMLElement} */
    line: (row) =>
      h(
        "div.line",
        { role: "row" },
        shown.map((column, position) =>
          h(
            column.number ? "div.n" : "div",
            { role: "gridcell", "aria-colindex": position + 1 },
            column === shown[0] && data.index.clips.failed[row] >= 0
              ? [
                  column.cell(row),
                  h("span.fault.small", { text: "failed", title: data.index.reasons[data.index.clips.failed[row]] }),
                ]
              : column.cell(row),
          ),
        ),
      ),
  };
};
