// The table of models: means with intervals, ranks, steps between neighbours, and every two models.

import { count, fixed, h, pValue, signed, views } from "./core.js";
import { OR_ZERO, data } from "./data.js";
import {
  columnColour,
  columnInfo,
  columnLabel,
  digitsOf,
  domain,
  endsOf,
  filtered,
  intervalPlot,
  meanOf,
  metricSelect,
  ordered,
  refill,
  scoreUnit,
  sortHeader,
  wide,
  withInterval,
} from "./numbers.js";
import { link, state } from "./state.js";

const LEVEL = 0.05; // p below which a difference is significant
const MOST_MODELS = 20; // of which every two are shown
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
  for (const [reason, clips] of parts) {
    const kind =
      reason === "failed"
        ? "failed"
        : reason === "not scored"
          ? "not scored"
          : reason.startsWith("does not apply")
            ? "not applicable"
            : "missing";
    sums.set(kind, (sums.get(kind) ?? 0) + clips);
  }
  const summary = [...sums].map(([kind, clips], place) => [
    place ? ", " : "",
    h(kind === "failed" ? "span.fault" : "span", `${kind} ${clips}`),
  ]);
  return h(
    "details.reasons.small.muted",
    { "data-key": `without ${key} ${metric}` },
    h("summary", summary),
    h(
      "ul",
      parts.map(([reason, clips]) => h("li", `${reason}: ${count(clips, "clip")}`)),
    ),
  );
}

/**
 * @param {string} model
 * @returns {Partial<State>} The gallery with the clips of a model and no other filter; names of models are those of boards.
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
      cell.low === null ? null : h("span.span-ends", ` [${fixed(cell.low, digits)}, ${fixed(cell.high, digits)}]`),
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
  if (!rated.has(key)) rated.set(key, meanOf(metric, rowsOf(model)).mean);
  return rated.get(key) ?? null;
}

/** @param {Board} board */
function table(board) {
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
      text: [
        h("span.swatch", { "--colour": columnColour(metric), "aria-hidden": "true" }),
        columnLabel(metric, board.columns),
      ],
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
  const body = ordered(board.rows, value, known && desc).map((row) =>
    h(
      "tr",
      rankCell(row),
      h(
        "th.first",
        { scope: "row" },
        h("a", { href: link(clipsOf(row.model)), title: `Clips of ${row.model}` }, row.model),
        h("div.small.muted", count(row.clips, "clip")),
      ),
      board.columns.map((metric) =>
        h("td", cellParts(board, row, metric, /** @type {[number, number]} */ (domains.get(metric)))),
      ),
      humans.map((key) => h("td.n", fixed(ratingOf(key, row.model), 2))),
    ),
  );
  return wide(
    `Models, ${board.label}`,
    h(
      "table.numbers.models",
      h(
        "thead",
        h(
          "tr",
          sortHeader("", {
            text: "Rank",
            title: `Sort by rank in ${columnInfo(board.by).title}`,
            best: "low",
            more: h("div.small.muted.title", "95 % interval"),
          }),
          sortHeader("model", { text: "Model", classes: ".first", best: "low" }),
          heads,
          ratingHeads,
        ),
      ),
      h("tbody", body),
    ),
  );
}

/** @param {Board} board @returns {any} One model alone: its scores as a profile on one scale. */
function profile(board) {
  const [row] = board.rows,
    width = 260;
  return wide(
    `Scores of ${row.model}`,
    h(
      "table.numbers.profile",
      h("caption", h("a", { href: link(clipsOf(row.model)) }, row.model), `, ${count(row.clips, "clip")}`),
      h(
        "thead",
        h(
          "tr",
          h("th.first", { scope: "col" }, "Score"),
          h("th", { scope: "col" }, "Mean"),
          h("th", { scope: "col" }, "Scale"),
        ),
      ),
      h(
        "tbody",
        [...board.columns, ...ratings()].map((metric) => {
          const info = columnInfo(metric),
            human = info.kind === "rating";
          const domain = info.range ?? domainOf(board, metric);
          const head = h(
            "th.first",
            { scope: "row" },
            h("span.swatch", { "--colour": columnColour(metric), "aria-hidden": "true" }),
            columnLabel(metric, board.columns),
            h("div.small.muted", titleOf(board, metric)),
          );
          const mean = human ? fixed(ratingOf(metric, row.model), 2) : cellParts(board, row, metric, domain, width);
          return h(
            "tr",
            head,
            h("td", mean),
            h(
              "td.small.muted",
              human || !info.range
                ? scoreUnit(metric)
                : `${scoreUnit(metric)}, ${info.lower_is_better ? "lower" : "higher"} is ${info.low_is_fault ? "better" : "more"}`,
            ),
          );
        }),
      ),
    ),
  );
}

/** @param {Board} board */
function steps(board) {
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
function matrix(number, board) {
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
  const basis = `${scoreUnit(metric)}, over the prompts that both have; p of a sign-flip test, Holm-corrected over the pairs of this score.`;
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
    return h(
      tint ? "td.n.tinted" : "td.n",
      {
        "--colour": columnColour(metric),
        "--tint": `${tint}%`,
        title: `${row} less ${column}: ${signed(pair.difference, digits)} [${signed(pair.low, digits)}, ${signed(pair.high, digits)}], ${count(pair.prompts, "prompt")}`,
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
      `Mean of the row's model less that of the column's, ${basis} Bold: p < ${LEVEL}; tinted: the row's model is better.`,
    ),
    wide(
      `Every two models, ${board.label}`,
      h(
        "table.numbers.model-pairs",
        h(
          "thead",
          h(
            "tr",
            h("th.first", { scope: "col" }, info.label),
            names.map((name) => h("th.n.model-name", { scope: "col" }, name)),
          ),
        ),
        h(
          "tbody",
          names.map((row) =>
            h(
              "tr",
              h("th.first", { scope: "row" }, row),
              names.map((column) => cell(row, column)),
            ),
          ),
        ),
      ),
    ),
  ];
}

/** @param {Board} board @param {ModelPair[]} pairs @param {string} metric */
function pairList(board, pairs, metric) {
  const digits = digitsOf(metric);
  const rows = pairs.map((pair) => {
    const { difference, low, high, p, p_holm: holm, prompts } = pair.metrics[metric];
    return h(
      "tr",
      h("th.first", { scope: "row" }, modelOf(pair.a)),
      h("td.model-name", modelOf(pair.b)),
      h("td.n", signed(difference, digits), low === null ? null : ` [${signed(low, digits)}, ${signed(high, digits)}]`),
      h("td.n", pValue(holm ?? p)),
      h("td.n", String(prompts)),
    );
  });
  return wide(
    `Neighbours, ${board.label}`,
    h(
      "table.numbers.model-pairs",
      h(
        "thead",
        h(
          "tr",
          h("th.first", { scope: "col" }, "First"),
          h("th", { scope: "col" }, "Second"),
          ["Difference", "p (Holm)", "Prompts"].map((head) => h("th.n", { scope: "col" }, head)),
        ),
      ),
      h("tbody", rows),
    ),
  );
}

/** @param {number | null} value */
const minus = (value) => (value === null ? null : -value);

/** @param {string} side "<run position>/<model>" @returns {string} */
const modelOf = (side) => side.slice(side.indexOf("/") + 1);

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
      `The table above covers all clips; the filter shows ${count(rows.length, "clip")}. Their means, without intervals:`,
    ),
    wide(
      `Means with the filter, ${board.label}`,
      h(
        "table.numbers.filtered",
        h(
          "thead",
          h(
            "tr",
            h("th.first", { scope: "col" }, "Model"),
            h("th.n", { scope: "col" }, "Clips"),
            metrics.map((metric) => h("th.n", { scope: "col" }, columnLabel(metric, metrics))),
          ),
        ),
        h(
          "tbody",
          board.rows.map((row) => {
            const own = rowsOf(row.model).filter((clip) => visible.has(clip));
            return h(
              "tr",
              h("th.first", { scope: "row" }, row.model),
              h("td.n", String(own.length)),
              metrics.map((metric) => h("td.n", fixed(meanOf(metric, own).mean, digitsOf(metric)))),
            );
          }),
        ),
      ),
    ),
  ];
}

/** @returns {any} Correlation of scores with human ratings. */
function agreement() {
  const rows = data.index.agreement ?? [];
  if (!rows.length) return null;
  const dimensions = [...new Set(rows.map((row) => row.dimension))],
    metrics = [...new Set(rows.map((row) => row.metric))];
  const correlation = (/** @type {string} */ metric, /** @type {Correlation | null | undefined} */ of, more = null) =>
    h(
      "td",
      of
        ? [
            intervalPlot({ mean: of.rho, low: of.low, high: of.high }, [-1, 1], metric),
            h("span.mean", fixed(of.rho, 2)),
            of.low === null ? null : h("span.span-ends", ` [${fixed(of.low, 2)}, ${fixed(of.high, 2)}]`),
            more,
          ]
        : h("span.muted", { title: "too few models or rated clips, or no amplitude" }, "–"),
    );
  return h(
    "section",
    h("h2", "Agreement with human ratings"),
    h(
      "p.prose.muted",
      "Spearman correlation (−1 to 1) of scores with mean ratings over all rated clips, its mean within models, and that with the amplitude of motion held constant, with 95 % bootstrap intervals. Above 0, score and people agree. “less motion” prefers the clip that moves less: a score should reach more.",
    ),
    wide(
      "Agreement with human ratings",
      h(
        "table.numbers.models",
        h(
          "thead",
          h(
            "tr",
            h("th.first", { scope: "col", rowspan: 2 }, "Score"),
            dimensions.map((dimension) =>
              h("th", { scope: "colgroup", colspan: 3 }, columnInfo(`rating:${dimension}`).title),
            ),
          ),
          h(
            "tr",
            dimensions.map(() =>
              ["All clips", "Within models", "Amplitude constant"].map((head) =>
                h("th", { scope: "col" }, head, h("div.small.muted.scale-ends", h("span", "−1"), h("span", "1"))),
              ),
            ),
          ),
        ),
        h(
          "tbody",
          metrics.map((metric) =>
            h(
              "tr",
              h(
                "th.first",
                { scope: "row" },
                columnInfo(metric).label,
                columnInfo(metric).title === metric ? null : h("div.small.muted", columnInfo(metric).title),
              ),
              dimensions.map((dimension) => {
                const row = rows.find((other) => other.metric === metric && other.dimension === dimension);
                return [
                  correlation(metric, row, row && h("div.small.muted", count(row.clips, "clip"))),
                  correlation(metric, row?.within_model),
                  correlation(metric, row?.amplitude_constant),
                ];
              }),
            ),
          ),
        ),
      ),
    ),
  );
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
      `Means over clips of ${basis}.${single ? "" : ` Ranked by ${columnInfo(board.by).title}. A model opens its clips; a number opens them worst first.`}`,
    ),
    single ? profile(board) : table(board),
    filteredMeans(board),
    steps(board),
    matrix(number, board),
    board.notes.length
      ? h(
          "details.prose",
          { "data-key": `notes ${board.label}` },
          h("summary", count(board.notes.length, "note")),
          h(
            "ul",
            board.notes.map((note) => h("li", note)),
          ),
        )
      : null,
  );
}

views.push({
  key: "leaderboard",
  tab: 10,
  title: "Models",
  available: () => true,
  open: (root) => {
    const update = () =>
      refill(
        root,
        data.index.boards.length
          ? [data.index.boards.map(section), agreement()]
          : h(
              "p.empty",
              "No clip of these runs has a score that a table could show. The notes are under ",
              h("a", { href: link({ view: "about" }) }, "About"),
              ".",
            ),
      );
    update();
    return { update, close: () => {} };
  },
});
