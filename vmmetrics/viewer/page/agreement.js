// Correlation of scores with human ratings.

import { count, fixed, h } from "./core.js";
import { data } from "./data.js";
import { columnInfo, interval, intervalPlot } from "./numbers.js";
import { head, rowHead, wide } from "./tables.js";

const TITLE = "Agreement with human ratings";
const KINDS = ["All clips", "Within models", "Amplitude constant"];
const EXPLANATION =
  "Spearman correlation (−1 to 1) of scores with mean ratings over all rated clips, its mean within models, and that " +
  "with the amplitude of motion held constant, with 95 % bootstrap intervals. Above 0, score and people agree. “less " +
  "motion” prefers the clip that moves less: a score should reach more.";

/** @returns {any} Correlation of scores with human ratings. */
export function agreement() {
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
            h("span.span-ends", interval(of.low, of.high, 2)),
            more,
          ]
        : h("span.muted", { title: "too few models or rated clips, or no amplitude" }, "–"),
    );
  const ends = () => h("div.small.muted.scale-ends", h("span", "−1"), h("span", "1"));
  const body = metrics.map((metric) => {
    const { label, title } = columnInfo(metric);
    const cells = dimensions.map((dimension) => {
      const row = rows.find((other) => other.metric === metric && other.dimension === dimension);
      return [
        correlation(metric, row, row && h("div.small.muted", count(row.clips, "clip"))),
        correlation(metric, row?.within_model),
        correlation(metric, row?.amplitude_constant),
      ];
    });
    return h("tr", rowHead(label, title === metric ? null : h("div.small.muted", title)), cells);
  });
  const titles = dimensions.map((dimension) =>
    h("th", { scope: "colgroup", colspan: 3 }, columnInfo(`rating:${dimension}`).title),
  );
  const kindHeads = dimensions.map(() => KINDS.map((kind) => head([kind, ends()])));
  return h(
    "section",
    h("h2", TITLE),
    h("p.prose.muted", EXPLANATION),
    wide(
      TITLE,
      h(
        "table.numbers.models",
        h("thead", h("tr", h("th.first", { scope: "col", rowspan: 2 }, "Score"), titles), h("tr", kindHeads)),
        h("tbody", body),
      ),
    ),
  );
}
