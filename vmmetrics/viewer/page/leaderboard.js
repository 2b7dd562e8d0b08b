// The table of models: means with intervals, ranks, steps between neighbours, and every two models.

import { count, fixed, h, list, views } from "./core.js";
import { OR_ZERO, data } from "./data.js";
import { agreement } from "./agreement.js";
import { matrix, steps } from "./modelpairs.js";
import {
  columnColour,
  columnInfo,
  columnLabel,
  digitsOf,
  domain,
  endsOf,
  filtered,
  interval,
  intervalPlot,
  meanOf,
  scoreUnit,
} from "./numbers.js";
import { link, state } from "./state.js";
import { head, ordered, refilled, rowHead, sortHeader, swatch, table } from "./tables.js";

const OUTER = 0.025; // share of bootstrap samples beyond either end of an interval

/** @param {number[]} shares @returns {[number, number] | null} First and last rank of the 95 % interval. */
function rankInterval(shares) {
  if (!shares.length) return null;
  const end = (/** @type {number[]} */ ordered) => {
    let sum = 0;
    return ordered.findIndex((share) => (sum += share) > OUTER + 1e-9);
  };
  return [1 + end(shares), shares.length - end([...shares].reverse())];
}

/**
 * @param {string} metric
 * @param {Record<string, number>} without
 * @returns {any} Counts by kind, with the reasons to open.
 */
function withoutScore(metric, without, key = "") {
  const parts = Object.entries(without);
  if (!parts.length) return null;
  const sums = new Map();
  const kinds = ["failed", "not scored", "does not apply"];
  for (const [reason, clips] of parts) {
    const kind = kinds.find((start) => reason.startsWith(start)) ?? "missing";
    sums.set(kind, (sums.get(kind) ?? 0) + clips);
  }
  const summary = [...sums].map(([kind, clips], place) => [
    place ? ", " : "",
    h(kind === "failed" ? "span.fault" : "span", `${kind === "does not apply" ? "not applicable" : kind} ${clips}`),
  ]);
  return h(
    "details.reasons.small.muted",
    { "data-key": `without ${key} ${metric}` },
    h("summary", summary),
    list(parts.map(([reason, clips]) => `${reason}: ${count(clips, "clip")}`)),
  );
}

/**
 * @param {string} model
 * @returns {Partial<State>} The gallery with the clips of a model, as boards name it, and no other filter.
 */
const clipsOf = (model) => ({ view: "gallery", q: "", where: "", ranges: {}, facets: { model: [model] }, clip: "" });

/** @param {BoardRow} row @param {string} metric @param {any[]} shown */
function cellLink(row, metric, shown) {
  const info = data.metric(metric);
  if (!info) return shown;
  const href = link({ ...clipsOf(row.model), sort: metric, desc: info.lower_is_better });
  return h("a.plain", { href, title: `Clips of ${row.model}, worst ${info.label} first` }, shown);
}

/**
 * @param {Board} board
 * @param {BoardRow} row
 * @param {string} metric
 * @param {[number, number]} domain
 * @param {number} [width]
 */
function cellParts(board, row, metric, domain, width) {
  const cell = row.cells[metric],
    key = `${board.label} ${row.model}`,
    digits = digitsOf(metric);
  const reasons = withoutScore(metric, cell?.without ?? {}, key);
  if (!cell || cell.mean === null)
    return [
      h("span", { title: "no mean" }, "–"),
      reasons ?? h("div.small.muted", cell ? "no score" : "not in this run"),
    ];
  return [
    cellLink(row, metric, [
      intervalPlot(cell, domain, metric, width),
      h("span.mean", fixed(cell.mean, digits)),
      h("span.span-ends", interval(cell.low, cell.high, digits)),
    ]),
    cell.clips < row.clips ? h("div.small.muted", `${cell.clips} of ${count(row.clips, "clip")}`) : null,
    reasons,
  ];
}

/** @param {Board} board @param {string} metric @returns {[number, number]} */
function domainOf(board, metric) {
  const cells = board.rows.map((row) => row.cells[metric]).filter(Boolean);
  return domain(
    cells.flatMap((cell) => [cell.mean, cell.low, cell.high]),
    columnInfo(metric).range,
  );
}

/** @param {Board} board @param {string} metric @returns {string} */
const titleOf = (board, metric) =>
  columnInfo(metric).title +
  (metric === "motion_index" && board.columns.includes(OR_ZERO) ? ", of the clips judged" : "");

/** @param {BoardRow} row */
function rankCell(row) {
  const ends = rankInterval(row.shares);
  if (row.rank === null) return h("td.n", { title: "not ranked" }, "–");
  const shares = row.shares
    .map((share, place) => `rank ${place + 1} in ${fixed(100 * share, 0)} %`)
    .filter((_, place) => row.shares[place] >= 0.005);
  return h(
    "td.n",
    h("span.mean", String(row.rank)),
    ends &&
      h(
        "div.small.muted",
        { title: `Of the bootstrap samples: ${shares.join(", ")}` },
        ends[0] === ends[1] ? `${ends[0]}` : `${ends[0]} to ${ends[1]}`,
      ),
  );
}

const ratings = () => data.index.metrics.filter((metric) => metric.kind === "rating").map((metric) => metric.key);

/** @type {Map<string, number[]> | null} */
let clips = null;

/** @param {string} model @returns {number[]} Rows of its clips. */
function rowsOf(model) {
  if (!clips) {
    clips = new Map(data.index.models.map((name) => [name, []]));
    for (let row = 0; row < data.n; row++) clips.get(data.model(row))?.push(row);
  }
  return clips.get(model) ?? [];
}

/** @type {Map<string, number | null>} */
const rated = new Map();

/** @param {string} metric @param {string} model @returns {number | null} Mean of a human rating. */
function ratingOf(metric, model) {
  const key = JSON.stringify([metric, model]);
  if (!rated.has(key)) rated.set(key, meanOf(metric, rowsOf(model)));
  return rated.get(key) ?? null;
}

/** @param {Board} board */
function models(board) {
  const { sort, desc } = state,
    humans = ratings(),
    known = ["", "model", ...board.columns, ...humans].includes(sort);
  const domains = new Map(board.columns.map((metric) => [metric, domainOf(board, metric)]));
  /** @type {(row: BoardRow) => number | string | null | undefined} */
  const value = (row) =>
    !known || sort === ""
      ? row.rank
      : sort === "model"
        ? row.model
        : humans.includes(sort)
          ? ratingOf(sort, row.model)
          : row.cells[sort]?.mean;
  const heads = board.columns.map((metric) => {
    const info = columnInfo(metric);
    const more = [
      h("div.small.muted.title", titleOf(board, metric)),
      info.lower_is_better ? h("div.small", "lower is better") : null,
      h(
        "div.small.muted.scale-ends",
        endsOf(/** @type {[number, number]} */ (domains.get(metric))).map((end) => h("span", end)),
      ),
    ];
    return sortHeader(metric, {
      text: [swatch(columnColour(metric)), columnLabel(metric, board.columns)],
      more,
      title: `Sort by ${info.title}`,
      best: info.lower_is_better ? "low" : "high",
    });
  });
  const ratingHeads = humans.map((key) =>
    sortHeader(key, {
      text: columnInfo(key).label,
      more: h("div.small.muted.title", columnInfo(key).title),
      title: `Sort by ${columnInfo(key).title}`,
      best: "high",
      classes: ".n",
    }),
  );
  const rank = sortHeader("", {
    text: "Rank",
    title: `Sort by rank in ${columnInfo(board.by).title}`,
    best: "low",
    more: h("div.small.muted.title", "95 % interval"),
  });
  const body = ordered(board.rows, value, known && desc).map((row) => [
    rankCell(row),
    rowHead(
      h("a", { href: link(clipsOf(row.model)), title: `Clips of ${row.model}` }, row.model),
      h("div.small.muted", count(row.clips, "clip")),
    ),
    board.columns.map((metric) =>
      h("td", cellParts(board, row, metric, /** @type {[number, number]} */ (domains.get(metric)))),
    ),
    humans.map((key) => h("td.n", fixed(ratingOf(key, row.model), 2))),
  ]);
  const model = sortHeader("model", { text: "Model", classes: ".first", best: "low" });
  return table(`Models, ${board.label}`, ".models", [rank, model, heads, ratingHeads], body);
}

/** @param {Board} board @returns {any} One model alone: its scores as a profile on one scale. */
function profile(board) {
  const [row] = board.rows,
    width = 260;
  const rows = [...board.columns, ...ratings()].map((metric) => {
    const info = columnInfo(metric),
      human = info.kind === "rating";
    const mean = human
      ? fixed(ratingOf(metric, row.model), 2)
      : cellParts(board, row, metric, info.range ?? domainOf(board, metric), width);
    const better = `${info.lower_is_better ? "lower" : "higher"} is ${info.low_is_fault ? "better" : "more"}`;
    return [
      rowHead(
        swatch(columnColour(metric)),
        columnLabel(metric, board.columns),
        h("div.small.muted", titleOf(board, metric)),
      ),
      h("td", mean),
      h("td.small.muted", scoreUnit(metric) + (human || !info.range ? "" : `, ${better}`)),
    ];
  });
  const heads = [head("Score", ".first"), head("Mean"), head("Scale")];
  const shown = table(`Scores of ${row.model}`, ".profile", heads, rows);
  const model = h("a", { href: link(clipsOf(row.model)) }, row.model);
  shown.firstChild.prepend(h("caption", model, `, ${count(row.clips, "clip")}`));
  return shown;
}

/** @param {Board} board @returns {any} Means of the clips that the filter shows. */
function filteredMeans(board) {
  const { rows, active } = filtered();
  if (!active) return null;
  const metrics = [...board.columns.filter((metric) => data.metric(metric) || metric === OR_ZERO), ...ratings()],
    visible = new Set(rows);
  return [
    h("h3", "With the filter"),
    h(
      "p.prose",
      `The table above covers all clips; the filter shows ${count(rows.length, "clip")}. `,
      "Their means, without intervals:",
    ),
    table(
      `Means with the filter, ${board.label}`,
      ".filtered",
      [head("Model", ".first"), head("Clips", ".n"), ...metrics.map((key) => head(columnLabel(key, metrics), ".n"))],
      board.rows.map(({ model }) => {
        const own = rowsOf(model).filter((clip) => visible.has(clip));
        const means = metrics.map((metric) => h("td.n", fixed(meanOf(metric, own), digitsOf(metric))));
        return [rowHead(model), h("td.n", own.length), means];
      }),
    ),
  ];
}

/** @param {Board} board @param {number} number */
function section(board, number) {
  const cut = board.label.indexOf(": "),
    [head, remark] = cut < 0 ? [board.label, ""] : [board.label.slice(0, cut), board.label.slice(cut + 2)];
  const several = data.index.boards.length > 1;
  const warnings = [
    remark,
    !board.comparable && !/not comparable/.test(remark) ? "not comparable with published VMBench numbers" : "",
    several ? "not comparable with the other tables of this page" : "",
  ].filter(Boolean);
  const single = board.rows.length === 1,
    [first] = board.rows;
  const basis =
    single && first.prompts < 3
      ? `${count(first.prompts, "prompt")}: too few for intervals`
      : `${count(board.prompts, "prompt")}; intervals are 95 % bootstrap intervals over prompts`;
  return h(
    "section",
    h("h2", head[0].toUpperCase() + head.slice(1)),
    warnings.length ? h("p.warning", `${warnings.join("; ")}.`) : null,
    h(
      "p.prose.muted",
      `Means over clips of ${basis}.`,
      single
        ? ""
        : ` Ranked by ${columnInfo(board.by).title}. A model opens its clips; a number opens them worst first.`,
    ),
    single ? profile(board) : models(board),
    filteredMeans(board),
    steps(board),
    matrix(number, board),
    board.notes.length
      ? h(
          "details.prose",
          { "data-key": `notes ${board.label}` },
          h("summary", count(board.notes.length, "note")),
          list(board.notes),
        )
      : null,
  );
}

views.push({
  key: "leaderboard",
  title: "Models",
  available: () => true,
  open: refilled(() => {
    const about = h("a", { href: link({ view: "about" }) }, "About");
    if (data.index.boards.length) return [data.index.boards.map(section), agreement()];
    return h("p.empty", "No clip of these runs has a score that a table could show. The notes are under ", about, ".");
  }),
});
