// Two models or runs on the same prompts: the paired test, all pairs by their difference, and one pair.

import { button, count, h, pValue, select, signed, svg, views } from "./core.js";
import { data } from "./data.js";
import { rows } from "./filter.js";
import { compareSides, matchPairs, orderPairs, pairDifference, sides } from "./matching.js";
import { columnColour, columnInfo, columnKeys, columnLabel, digitsOf, interval, optionOf } from "./numbers.js";
import { PairView } from "./pair.js";
import { go, link, state } from "./state.js";
import { head, wide } from "./tables.js";

const PER_PAGE = 50;
const HISTOGRAM = { width: 480, height: 132, top: 8, foot: 36, edge: 28 };
const HALF_BINS = 10; // on either side of the one around zero
const BAR = 72; // px

/** @typedef {import("./matching.js").Side} Side */
/** @typedef {import("./matching.js").Pair} Pair */
/**
 * @typedef {object} Comparison
 * @property {Side} a
 * @property {Side} b
 * @property {MetricInfo} metric
 * @property {Pair[]} pairs
 * @property {string} by
 * @property {Pair[]} shown
 * @property {Pair[]} whole Those shown whose two clips are there.
 * @property {number} open Position among these of the one that is open, or -1.
 */

/**
 * @param {State} state
 * @param {Side[]} sides
 * @returns {[Side, Side]} Those chosen, else those of the open clip, else the first two.
 */
function sidesOf(state, sides) {
  const row = state.clip ? data.find(state.clip) : -1;
  const a = sides.find((side) => side.key === state.a) ?? sides.find((side) => side.rows.includes(row)) ?? sides[0];
  const others = sides.filter((side) => side !== a);
  const b =
    others.find((side) => side.key === state.b) ??
    others.find((side) => side.run === a.run) ??
    others.find((side) => side.folder === a.folder) ??
    others[0];
  return [a, b];
}

/** @param {Pair[]} pairs @returns {Pair[]} Those with a clip that the filter passes. */
function filtered(pairs) {
  const passing = new Set(rows());
  if (passing.size === data.n) return pairs;
  return pairs.filter(({ a, b }) => passing.has(a) || passing.has(b));
}

class Compare {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.sides = sides();
    /** @type {string[]} Scores to choose from. */
    this.keys = columnKeys();
    /** @type {[string, { pairs: Pair[], by: "prompt" | "name" }]} */
    this.matched = ["", { pairs: [], by: "prompt" }];
    /** @type {{ key: string, shown: Pair[], whole: Pair[] }} */
    this.ordered = { key: "", shown: [], whole: [] };
    /** Key of what is shown. */
    this.content = "";
    /** @type {any} The open pair. */
    this.pair = null;
    const choose = (/** @type {"a" | "b"} */ side) =>
      select(
        this.sides.map(({ key, label }) => [key, label]),
        "",
        (key) => this.choose(side, key),
        { "aria-label": `Side ${side.toUpperCase()}` },
      );
    this.selects = { a: choose("a"), b: choose("b") };
    const scores = this.keys.map((key) => optionOf(key, this.keys));
    this.metrics = select(scores, "", (metric) => go({ metric, pair: "" }), { "aria-label": "Score" });
    this.head = h("div.compare-head");
    this.body = h("div.compare-body");
    root.append(
      h(
        "div.compare-sides",
        h("label", h("b.letter", { text: "A" }), this.selects.a),
        h("label", h("b.letter", { text: "B" }), this.selects.b),
        h("label", "Score", this.metrics),
      ),
      this.head,
      this.body,
    );
    this.update(state);
  }

  /** @param {"a" | "b"} side @param {string} key */
  choose(side, key) {
    const [a, b] = sidesOf(state, this.sides),
      other = side === "a" ? "b" : "a";
    const chosen = { a: a.key, b: b.key, [side]: key };
    if (chosen.a === chosen.b) chosen[other] = { a, b }[side].key; // the two change places
    go({ ...chosen, clip: "", pair: "" });
  }

  /** @param {State} state @returns {Comparison} */
  read(state) {
    const [a, b] = sidesOf(state, this.sides),
      sides = `${a.key}\n${b.key}`;
    if (this.matched[0] !== sides) this.matched = [sides, matchPairs(a, b)];
    const { pairs, by } = this.matched[1];
    const key = this.keys.includes(state.metric) ? state.metric : this.keys[0];
    const metric = { ...columnInfo(key), label: columnLabel(key, this.keys) };
    const about = JSON.stringify([sides, key, state.order, state.q, state.where, state.facets, state.ranges]);
    if (this.ordered.key !== about) {
      const shown = orderPairs(key, filtered(pairs), state.order === "gains");
      this.ordered = { key: about, shown, whole: shown.filter((pair) => pair.a >= 0 && pair.b >= 0) };
    }
    const { shown, whole } = this.ordered;
    const row = state.clip ? data.find(state.clip) : -1;
    const open = row < 0 ? -1 : whole.findIndex((pair) => pair.a === row || pair.b === row);
    return { a, b, metric, pairs, by, shown, whole, open };
  }

  /** @param {State} state */
  update(state) {
    const now = this.read(state),
      { a, b, metric, whole } = now;
    [this.selects.a.value, this.selects.b.value, this.metrics.value] = [a.key, b.key, metric.key];
    const pair = now.open < 0 ? null : whole[now.open];
    const content = pair ? `${this.ordered.key} ${pair.a} ${pair.b}` : `${this.ordered.key} page ${state.pair}`;
    if (content === this.content) return this.pair?.update(state);
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.key;
    this.content = content;
    this.pair?.destroy();
    this.pair = null;
    this.head.replaceChildren(...this.verdict(now, !pair));
    if (pair) {
      const to = (/** @type {Pair | undefined} */ other) =>
        other ? link({ ...this.chosen(now), clip: data.id(other.a), frame: 0 }) : null;
      const links = {
        previous: to(whole[now.open - 1]),
        next: to(whole[now.open + 1]),
        all: link({ ...this.chosen(now), clip: "", frame: 0 }),
      };
      this.pair = new PairView(a, b, pair, `${now.open + 1} of ${whole.length}`, links);
      this.body.replaceChildren(this.pair.root);
    } else this.body.replaceChildren(...this.list(now, state));
    if (focused)
      [.../** @type {NodeListOf<HTMLElement>} */ (this.body.querySelectorAll("[data-key]"))]
        .find((node) => node.dataset.key === focused)
        ?.focus();
  }

  /** @param {Comparison} now @returns {Partial<State>} */
  chosen({ a, b, metric }) {
    return { view: "compare", a: a.key, b: b.key, metric: metric.key };
  }

  // The test.

  /** @param {Comparison} now @param {boolean} full With the histogram. */
  verdict(now, full) {
    const { a, b, metric, pairs, by } = now,
      { runs } = data.index;
    const { test, mean, scored, refused } = compareSides(a, b, metric.key, pairs);
    const parts = [];
    if (runs[a.run].group !== runs[b.run].group || refused) {
      const of = (/** @type {Side} */ side) =>
        `${runs[side.run].name}: ${runs[side.run].label || runs[side.run].preset}`;
      parts.push(
        h(
          "p.note",
          { role: "alert" },
          h("b", { text: "Not comparable. " }),
          refused
            ? `${refused.replace(/\.$/, "")}.`
            : `The runs were scored in different ways (${of(a)}; ${of(b)}), so a difference may come from the scoring.`,
        ),
      );
    }
    const best = metric.lower_is_better ? "lower is better" : "higher is better";
    const digits = Math.max(2, digitsOf(metric.key));
    const facts = test
      ? [
          h("b", { text: signed(test.difference, digits) }),
          interval(test.low, test.high, digits, signed),
          `, paired test p = ${pValue(test.p)}`,
          test.p_holm === null ? "" : ` (${pValue(test.p_holm)} after Holm's correction)`,
          `, ${count(test.prompts, "prompt")}`,
          test.p === null ? "" : (test.p_holm ?? test.p) < 0.05 ? ": significant" : ": not significant",
        ]
      : mean === null
        ? ["no pair has both scores"]
        : [h("b", { text: signed(mean, 3) }), `, mean over ${count(scored, "pair")}, no test`];
    parts.push(
      h("p.verdict", `${metric.label}, ${b.label} less ${a.label}: `, facts, h("span.muted", { text: ` (${best})` })),
    );
    if (full)
      parts.push(
        this.histogram(now),
        h("p.small.muted", {
          text:
            by === "prompt"
              ? "Clips are paired by prompt, several of one prompt in order of their names."
              : "Clips are paired by name, as not every clip has a prompt.",
        }),
      );
    return parts;
  }

  /** @param {Comparison} now */
  histogram({ a, b, metric, shown }) {
    const differences = shown
      .map((pair) => pairDifference(metric.key, pair))
      .filter((difference) => !Number.isNaN(difference));
    if (!differences.length) return null;
    const { height, top, foot, edge } = HISTOGRAM,
      width = Math.min(HISTOGRAM.width, this.body.clientWidth || HISTOGRAM.width);
    const most = differences.reduce((largest, difference) => Math.max(largest, Math.abs(difference)), 0) || 1,
      size = most / HALF_BINS;
    const bins = new Array(2 * HALF_BINS + 1).fill(0);
    for (const difference of differences) bins[Math.round(difference / size) + HALF_BINS] += 1;
    const tallest = Math.max(...bins),
      base = height - foot,
      bar = (width - 2 * edge) / bins.length;
    const at = (/** @type {number} */ value) => edge + (value / size + HALF_BINS + 0.5) * bar;
    const [lower, higher] = [differences.filter((d) => d < 0).length, differences.filter((d) => d > 0).length];
    const equal = differences.length - lower - higher;
    const summary = `${count(differences.length, "pair")}: B lower in ${lower}, higher in ${higher}, equal in ${equal}`;
    const from = (/** @type {number} */ bin) => (bin - HALF_BINS - 0.5) * size;
    const bars = bins.map(
      (number, k) =>
        number > 0 &&
        svg(
          "rect",
          {
            x: edge + k * bar + 0.5,
            width: bar - 1,
            y: base - ((base - top) * number) / tallest,
            height: ((base - top) * number) / tallest,
          },
          svg("title", `${signed(from(k), 3)} to ${signed(from(k + 1), 3)}: ${count(number, "pair")}`),
        ),
    );
    const label = (/** @type {number} */ value) =>
      svg("text", { x: at(value), y: base + 14, "text-anchor": "middle", text: value ? signed(value, 3) : "0" });
    const plot = svg(
      "svg.differences",
      {
        viewBox: `0 0 ${width} ${height}`,
        width,
        height,
        role: "img",
        "aria-label": `Differences of ${metric.label}. ${summary}`,
        "--colour": columnColour(metric.key),
      },
      bars,
      svg("line.zero", { x1: at(0), x2: at(0), y1: top, y2: base + 3 }),
      svg("line.base", { x1: edge, x2: width - edge, y1: base, y2: base }),
      [-most, 0, most].map(label),
      svg("text", { x: 0, y: top + 10, text: count(tallest, "pair") }),
      svg("text", {
        x: width / 2,
        y: height - 6,
        "text-anchor": "middle",
        text: `${metric.label} of B less that of A`,
      }),
    );
    return h(
      "figure.compare-plot",
      plot,
      h("figcaption.small.muted", { text: `${summary}. A is ${a.label}, B is ${b.label}.` }),
    );
  }

  // The pairs.

  /** @param {Comparison} now @param {State} state */
  list(now, state) {
    const { metric, shown, whole, pairs } = now,
      gains = state.order === "gains";
    if (!shown.length)
      return [h("p.empty", { text: pairs.length ? "No pair passes the filter." : "These two have no clips." })];
    const pages = Math.ceil(shown.length / PER_PAGE),
      page = Math.min(pages - 1, Math.max(0, Math.trunc(Number(state.pair)) || 0));
    const rows = shown.slice(page * PER_PAGE, (page + 1) * PER_PAGE);
    const most =
      shown.reduce((largest, pair) => Math.max(largest, Math.abs(pairDifference(metric.key, pair)) || 0), 0) || 1;
    /** @type {Map<string, number>} */
    const clips = new Map();
    for (const { key } of shown) clips.set(key, (clips.get(key) ?? 0) + 1);
    const order = select(
      [
        ["", "Largest loss of B first"],
        ["gains", "Largest gain of B first"],
      ],
      gains ? "gains" : "",
      (chosen) => go({ order: chosen, pair: "" }),
      { "aria-label": "Order", "data-key": "order" },
    );
    const turn = (/** @type {string} */ text, /** @type {number} */ to) =>
      button(text, () => go({ pair: to ? String(to) : "" }), { disabled: to < 0 || to >= pages, "data-key": text });
    const paging =
      pages > 1 &&
      h(
        "span.paging",
        turn("Previous page", page - 1),
        h("span", {
          text: ` ${page * PER_PAGE + 1} to ${page * PER_PAGE + rows.length} of ${shown.length.toLocaleString("en")} `,
        }),
        turn("Next page", page + 1),
      );
    const alone = shown.length - whole.length,
      passing = shown.length < pairs.length ? " that pass the filter" : "";
    const sole = alone ? `, ${count(alone, "clip")} of one side alone` : "";
    const summary = count(whole.length, "pair") + sole + passing;
    const heads = [head("Prompt"), head("A", ".n"), head("B", ".n"), head("B less A")];
    const lines = rows.map((pair) => this.row(now, pair, most, (clips.get(pair.key) ?? 0) > 1));
    return [
      h("div.pair-tools", order, h("span.muted", { text: summary }), paging),
      wide("Pairs", h("table.compare-pairs", h("thead", h("tr", heads)), h("tbody", lines))),
    ];
  }

  /**
   * @param {Comparison} now
   * @param {Pair} pair
   * @param {number} most Largest difference.
   * @param {boolean} several Of one prompt.
   */
  row(now, pair, most, several) {
    const { metric } = now,
      { a, b } = pair,
      difference = pairDifference(metric.key, pair);
    const whole = a >= 0 && b >= 0,
      row = a >= 0 ? a : b;
    const href = whole
      ? link({ ...this.chosen(now), clip: data.id(a), frame: 0 })
      : link({ view: "clip", clip: data.id(row), frame: 0 });
    const posters = [a, b].map((side) => {
      const src = side >= 0 && data.poster(side);
      return src ? h("img", { src, alt: "", loading: "lazy" }) : h("span.no-poster");
    });
    const name = several && h("span.small.muted", { text: data.name(row), title: data.name(row) });
    const why = [
      [a, "A"],
      [b, "B"],
    ].flatMap(([side, letter]) => {
      if (/** @type {number} */ (side) < 0) return [`${letter} has no clip`];
      const { reason } = data.missing(metric.key, /** @type {number} */ (side));
      return reason ? [`${letter} missing: ${reason}`] : [];
    });
    const shown = Number.isNaN(difference)
      ? h("span.small.muted", { text: why.join("; ") })
      : h("span.difference", h("span.n", { text: signed(difference, 3) }), this.bar(metric.key, difference / most));
    const score = (/** @type {number} */ side) => h("td.n", { text: side < 0 ? "–" : data.shown(metric.key, side) });
    return h(
      "tr",
      h(
        "td",
        h(
          "a.pair-link",
          { href, title: pair.key },
          h("span.posters", { "aria-hidden": "true" }, posters),
          h("span.words", h("span.prompt", { text: pair.key }), name),
        ),
      ),
      score(a),
      score(b),
      h("td", shown),
    );
  }

  /** @param {string} metric @param {number} share Of the largest difference, with its sign. */
  bar(metric, share) {
    const middle = BAR / 2,
      size = Math.abs(share) * middle;
    return svg(
      "svg.bar",
      { width: BAR, height: 12, viewBox: `0 0 ${BAR} 12`, "aria-hidden": "true", "--colour": columnColour(metric) },
      svg("rect", { x: share < 0 ? middle - size : middle, width: size, y: 1, height: 10 }),
      svg("line.zero", { x1: middle, x2: middle, y1: 0, y2: 12 }),
    );
  }

  close() {
    this.pair?.destroy();
  }
}

views.push({
  key: "compare",
  title: "Compare",
  available: () => data.index.metrics.length > 0 && sides().length > 1,
  open: (root) => new Compare(root),
});
