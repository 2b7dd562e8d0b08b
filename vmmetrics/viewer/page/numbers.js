// Parts that the views of numbers share: columns, means, headers that sort, plots of intervals.

import { fixed, h, svg } from "./core.js";
import { OR_ZERO, colour, data } from "./data.js";
import { rows } from "./filter.js";
import { go, state } from "./state.js";

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
export const withInterval = (mean, low, high, digits = 3) =>
  fixed(mean, digits) + (low === null || low === undefined ? "" : ` [${fixed(low, digits)}, ${fixed(high, digits)}]`);

/**
 * Order by a value, missing values last both ways, equal ones as they were.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => number | string | null | undefined} value
 * @param {boolean} desc
 * @returns {T[]}
 */
export const ordered = (items, value, desc) => {
  const keyed = items.map((item) => ({ item, key: value(item) }));
  const absent = (/** @type {any} */ key) => key === null || key === undefined || Number.isNaN(key);
  return keyed
    .sort((one, other) => {
      if (absent(one.key) || absent(other.key)) return Number(absent(one.key)) - Number(absent(other.key));
      const order =
        typeof one.key === "string"
          ? one.key.localeCompare(String(other.key), "en", { numeric: true })
          : Number(one.key) - Number(other.key);
      return desc ? -order : order;
    })
    .map(({ item }) => item);
};

/**
 * Make a header cell that sorts; the first click puts the best first, the next turns the order round.
 * @param {string} key Column in `state.sort`; "" for the given order.
 * @param {{ text: any, more?: any, title?: string, best?: "high" | "low", classes?: string }} part
 */
export const sortHeader = (key, part) => {
  const { sort, desc } = state,
    active = sort === key,
    first = part.best === "high";
  const arrow = h("span.arrow", { "aria-hidden": "true", text: !active ? "" : desc ? "▼" : "▲" });
  const click = () => go({ sort: key, desc: active ? !desc : first }, { replace: true });
  const button = h("button.sort", { onclick: click, title: part.title, "data-key": `sort ${key}` }, part.text, arrow);
  return h(
    `th${part.classes ?? ""}`,
    { scope: "col", "aria-sort": active ? (desc ? "descending" : "ascending") : "none" },
    button,
    part.more,
  );
};

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
 * Average a metric as leaderboards do, over clips, and count their prompts; a clip without a prompt counts singly.
 * @param {string} metric
 * @param {Iterable<number>} rows
 * @returns {{ mean: number | null, prompts: number }}
 */
export const meanOf = (metric, rows) => {
  const scores = data.scores(metric),
    prompts = new Set();
  let total = 0,
    clips = 0;
  for (const row of rows) {
    if (Number.isNaN(scores[row])) continue;
    prompts.add(data.index.clips.prompt[row] < 0 ? `clip ${row}` : data.index.clips.prompt[row]);
    [total, clips] = [total + scores[row], clips + 1];
  }
  return { mean: clips ? total / clips : null, prompts: prompts.size };
};

/**
 * Make a labelled list of columns of which `state.metric` is chosen.
 * @param {string[]} keys
 * @param {string} chosen
 * @param {string} label
 */
export const metricSelect = (keys, chosen, label) => {
  const options = keys.map((key) =>
    h(
      "option",
      { value: key, selected: key === chosen },
      columnLabel(key, keys),
      columnInfo(key).title === key ? "" : `, ${columnInfo(key).title}`,
    ),
  );
  const select = h(
    "select",
    {
      "data-key": `select ${label}`,
      onchange: (/** @type {any} */ event) => go({ metric: event.target.value }, { replace: true }),
    },
    options,
  );
  return h("label.choice", `${label} `, select);
};

/**
 * Put other children into an element; focus, opened details and scrolled tables stay as they are, by `data-key`.
 * @param {HTMLElement} root
 * @param {...any} children
 */
export const refill = (root, ...children) => {
  const keyed = (/** @type {string} */ selector) => /** @type {any[]} */ ([...root.querySelectorAll(selector)]);
  const focus = root.contains(document.activeElement) ? /** @type {any} */ (document.activeElement)?.dataset.key : null;
  const open = new Set(keyed("details[open][data-key]").map((node) => node.dataset.key));
  const scrolled = new Map(keyed(".wide[data-key]").map((node) => [node.dataset.key, node.scrollLeft]));
  root.replaceChildren(h("div.tables-of-numbers", children));
  for (const node of keyed("[data-key]")) {
    if (open.has(node.dataset.key)) node.open = true;
    if (scrolled.has(node.dataset.key)) node.scrollLeft = scrolled.get(node.dataset.key);
    if (focus === node.dataset.key) node.focus({ preventScroll: true });
  }
};

/**
 * @param {string} name
 * @param {any} table
 * @returns {any} A table that scrolls sideways by itself, with the keyboard too.
 */
export const wide = (name, table) =>
  h("div.wide", { tabindex: 0, role: "region", "aria-label": name, "data-key": `wide ${name}` }, table);
