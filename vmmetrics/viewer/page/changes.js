// A candidate run against a baseline: what got worse first, clip pair by clip pair.

import { button, count, fixed, h, list, pValue, select, signed, views } from "./core.js";
import { OR_ZERO, colour, data } from "./data.js";
import { columnColour, columnInfo, digitsOf, interval, metricSelect } from "./numbers.js";
import { go, link, state } from "./state.js";
import { head, ordered, refilled, rowHead, swatch, table } from "./tables.js";

const LEVEL = 0.05,
  PAGE = 100;

/**
 * @typedef {object} Pair
 * @property {number} before
 * @property {number} after
 * @property {number | null} fall Of the chosen score, above 0 where it got worse.
 * @property {string[]} lost
 * @property {string[]} gained
 * @property {{ metric: string, reason: string }[]} events
 */

/** @returns {{ change: number, page: number }} From `state.pair`: "<change>.<page>". */
function position() {
  const [change, page] = state.pair.split(".").map((part) => Math.max(0, Math.trunc(Number(part)) || 0));
  return { change: change < data.index.changes.length ? change : 0, page: page ?? 0 };
}

/** @param {string} metric @returns {string} */
const label = (metric) => columnInfo(metric).label;

/** @param {RunChange["rows"][number]} row @returns {number} Amount by which it got worse. */
const loss = (row) => (row.difference === null ? NaN : row.lower_is_better ? row.difference : -row.difference);

/** @param {RunChange} change @returns {string[]} Scores, the one that got worse most first. */
function metricsOf(change) {
  const rows = change.rows.filter((row) => row.model === null);
  return [...new Set(ordered(rows.length ? rows : change.rows, loss, true).map((row) => row.metric))];
}

/**
 * @param {RunChange} change
 * @param {string} metric
 * @returns {Pair[]} What got worse most first, pairs without a difference last.
 */
function pairsOf(change, metric) {
  const keys = data.index.metrics.filter(({ kind }) => kind !== "rating").map(({ key }) => key);
  const scores = data.scores(metric),
    sign = columnInfo(metric).lower_is_better ? 1 : -1;
  const pairs = change.pairs.map(([before, after]) => {
    const had = new Set(data.events(before).map((event) => `${event.metric} ${event.reason}`));
    const has = (/** @type {string} */ key, /** @type {number} */ row) => !Number.isNaN(data.scores(key)[row]);
    const difference = sign * (scores[after] - scores[before]);
    return {
      before,
      after,
      fall: Number.isNaN(difference) ? null : difference,
      lost: keys.filter((key) => has(key, before) && !has(key, after)),
      gained: keys.filter((key) => !has(key, before) && has(key, after)),
      events: data.events(after).filter((event) => !had.has(`${event.metric} ${event.reason}`)),
    };
  });
  return ordered(pairs, (pair) => pair.fall, true);
}

/** @param {RunChange["rows"][number]} row @returns {string} Result in words. */
function resultOf(row) {
  const amount = loss(row),
    fault = columnInfo(row.metric).low_is_fault;
  if (Number.isNaN(amount)) return "no clip with both";
  if (amount === 0) return "equal";
  return amount > 0 ? (fault ? "worse" : "less") : fault ? "better" : "more";
}

/** @param {string} name @param {RunChange["rows"]} rows */
function means(name, rows) {
  const models = rows.some((row) => row.model !== null);
  const cells = (/** @type {RunChange["rows"][number]} */ row) => {
    const p = row.p_holm,
      significant = p !== null && p < LEVEL,
      result = resultOf(row),
      digits = digitsOf(row.metric);
    const judged = row.metric === "motion_index" && rows.some(({ metric }) => metric === OR_ZERO);
    const ends = interval(row.low, row.high, digits, signed);
    return [
      rowHead(
        swatch(columnColour(row.metric)),
        label(row.metric) + (judged ? ", judged in both" : ""),
        models && h("div.small.muted", row.model ?? "all clips"),
      ),
      h("td.n", fixed(row.before, digits)),
      h("td.n", fixed(row.after, digits)),
      h("td.n", h(significant ? "b" : "span", signed(row.difference, digits)), h("span.small.muted", ends)),
      h("td", significant ? h("b", result) : `${result}${p === null ? "" : ", not significant"}`),
      [pValue(p), row.clips, row.prompts, row.lost, row.gained].map((value) => h("td.n", value)),
    ];
  };
  const heads = [
    "Before",
    "After",
    "Difference",
    "Result",
    "p (Holm)",
    "Clips",
    "Prompts",
    "Scores lost",
    "Scores gained",
  ];
  const shown = heads.map((text) => head(text, text === "Result" ? "" : ".n"));
  return table(name, ".means", [head("Score", ".first"), ...shown], ordered(rows, loss, true).map(cells));
}

/** @param {RunChange} change */
function allMeans(change) {
  const all = change.rows.filter((row) => row.model === null),
    ofModels = change.rows.filter((row) => row.model !== null);
  return [
    all.length ? means("Means before and after", all) : null,
    ofModels.length
      ? h(
          "details.by-model",
          { open: !all.length, "data-key": "by model" },
          h("summary", "By model"),
          means("Means by model", ofModels),
        )
      : null,
  ];
}

/** @param {number} row @param {string} side */
function poster(row, side) {
  const source = data.poster(row);
  return source
    ? h("img", { src: source, alt: side, loading: "lazy", decoding: "async", width: 96, height: 72 })
    : h("span.without-poster.small.muted", "no poster");
}

/** @param {Pair} pair @param {string} metric @param {RunChange} change */
function item(pair, metric, change) {
  const scores = data.scores(metric),
    { before, after } = pair;
  const href = link({
    view: "compare",
    a: `${change.before}/${data.model(before)}`,
    b: `${change.after}/${data.model(after)}`,
    clip: data.id(before),
    frame: 0,
    pair: "",
  });
  const lost = pair.lost.map((key) => `${label(key)}: ${data.missing(key, after).reason}`);
  const gained = pair.gained.map((key) => `${label(key)} (was: ${data.missing(key, before).reason})`);
  const difference = scores[after] - scores[before];
  return h(
    "li.pair-item",
    h("a.both", { href, "aria-hidden": "true", tabindex: -1 }, poster(before, "before"), poster(after, "after")),
    h(
      "div",
      h("a", { href }, data.name(after)),
      data.name(before) === data.name(after) ? null : h("span.small.muted", ` was ${data.name(before)}`),
      data.prompt(after) ? h("div.small.muted", data.prompt(after)) : null,
      h(
        "div",
        `${label(metric === OR_ZERO ? "motion_index" : metric)} `,
        `${data.shown(metric, before)} → ${data.shown(metric, after)}`,
        Number.isNaN(difference) ? null : h("b", `, ${signed(difference, digitsOf(metric))}`),
      ),
      pair.events.length
        ? h(
            "div.small",
            "New events: ",
            pair.events.map((event, place) => [
              place ? "; " : "",
              h("span", swatch(colour(event.metric)), `${label(event.metric)} ${event.reason}`),
            ]),
          )
        : null,
      lost.length > 0 && h("div.small", `Scores lost: ${lost.join("; ")}`),
      gained.length > 0 && h("div.small", `Scores gained: ${gained.join("; ")}`),
    ),
  );
}

/** @param {RunChange} change @param {number} number @param {number} page */
function pairs(change, number, page) {
  const metrics = metricsOf(change).filter((key) => data.metric(key) || key === OR_ZERO);
  const metric = [state.metric, OR_ZERO].find((key) => metrics.includes(key)) ?? metrics[0];
  if (!change.pairs.length || !metric) return h("p.empty", "No clip of one run has its like in the other.");
  const all = pairsOf(change, metric),
    pages = Math.ceil(all.length / PAGE),
    at = Math.min(page, pages - 1);
  const turn = (/** @type {string} */ text, /** @type {number} */ to) =>
    button(text, () => go({ pair: `${number}.${to}` }), { disabled: to < 0 || to >= pages, "data-key": text });
  const fault = columnInfo(metric).low_is_fault;
  const worse = all.filter((pair) => pair.fall !== null && pair.fall > 0).length;
  return [
    h("h3", "Clips, what got worse first"),
    h(
      "div.controls",
      metricSelect(metrics, metric, "Score"),
      h("span.muted", `${fault ? "worse" : "less"} in ${worse.toLocaleString("en")} of ${count(all.length, "pair")}`),
    ),
    h(
      "ol.pair-list",
      { start: at * PAGE + 1 },
      all.slice(at * PAGE, (at + 1) * PAGE).map((pair) => item(pair, metric, change)),
    ),
    pages > 1
      ? h("div.controls", turn("Previous", at - 1), h("span", `Page ${at + 1} of ${pages}`), turn("Next", at + 1))
      : null,
  ];
}

/** @param {string} title @param {string[]} clips */
const names = (title, clips) =>
  clips.length > 0 &&
  h("details", { "data-key": title }, h("summary", `${title}: ${count(clips.length, "clip")}`), list(clips));

const EXPLANATION =
  "Means over prompts of clips with a score in both; the difference with its 95 % bootstrap interval over prompts; " +
  "p of a sign-flip test, Holm-corrected. What got worse stands first.";

/** @param {RunChange} change @returns {string} */
const title = ({ before, after }) => `${data.index.runs[before].name} → ${data.index.runs[after].name}`;

views.push({
  key: "changes",
  title: "Between runs",
  available: () => data.index.changes.length > 0,
  open: refilled(() => {
    const { changes, runs } = data.index,
      { change: number, page } = position(),
      change = changes[number];
    const [before, after] = [runs[change.before].name, runs[change.after].name];
    const paired = Object.entries(change.paired_by).map(([by, clips]) => `${count(clips, "clip")} by ${by}`);
    const sides = `Baseline ${before}, candidate ${after}${paired.length ? `; paired: ${paired.join(", ")}` : ""}. `;
    const options = changes.map((other, place) => /** @type {[number, string]} */ ([place, title(other)]));
    const choice = select(options, number, (chosen) => go({ pair: `${chosen}.0` }), { "data-key": "runs" });
    const compared = () => [
      h("p.prose.muted", sides, EXPLANATION),
      allMeans(change),
      pairs(change, number, page),
      names(`Only in ${before}`, change.gone),
      names(`Only in ${after}`, change.new),
    ];
    return [
      h("h2", title(change)),
      changes.length > 1 && h("div.controls", h("label.choice", "Runs ", choice)),
      change.refused === null ? compared() : h("p.note", `These two runs cannot be compared: ${change.refused}.`),
      change.notes.length > 0 && list(change.notes, ".prose.muted"),
    ];
  }),
});
