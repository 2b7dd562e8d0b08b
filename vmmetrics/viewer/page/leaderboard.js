// The table of models: means with intervals, ranks, steps between neighbours, and every two models.
"use strict";

(() => {
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

  /** @param {string} metric @param {Record<string, number>} without @returns {any} Counts by kind, with the reasons to open. */
  function withoutScore(metric, without, key = "") {
    const parts = Object.entries(without);
    if (!parts.length) return null;
    const sums = new Map();
    for (const [reason, clips] of parts) {
      const kind = reason === "failed" ? "failed" : reason === "not scored" ? "not scored" : reason.startsWith("does not apply") ? "not applicable" : "missing";
      sums.set(kind, (sums.get(kind) ?? 0) + clips);
    }
    const summary = [...sums].map(([kind, clips], place) => [place ? ", " : "", vm.h(kind === "failed" ? "span.fault" : "span", {}, `${kind} ${clips}`)]);
    return vm.h("details.reasons.small.muted", { "data-key": `without ${key} ${metric}` }, vm.h("summary", {}, summary),
      vm.h("ul", {}, parts.map(([reason, clips]) => vm.h("li", {}, `${reason}: ${vm.count(clips, "clip")}`))));
  }

  /** @param {string} model @returns {Partial<State>} The gallery with the clips of a model and no other filter; names of models are those of boards. */
  const clipsOf = (model) => ({ view: "gallery", q: "", where: "", ranges: {}, facets: { model: [model] }, clip: "" });

  /** @param {BoardRow} row @param {string} metric @param {any[]} shown */
  function cellLink(row, metric, shown) {
    const info = vm.data.metric(metric);
    if (!info) return shown;
    const href = vm.link({ ...clipsOf(row.model), sort: metric, desc: info.lower_is_better });
    return vm.h("a.plain", { href, title: `Clips of ${row.model}, worst ${info.label} first` }, shown);
  }

  /** @param {Board} board @param {BoardRow} row @param {string} metric @param {[number, number]} domain @param {number} [width] */
  function cellParts(board, row, metric, domain, width) {
    const cell = row.cells[metric], key = `${board.label} ${row.model}`, digits = vm.digitsOf(metric);
    const reasons = withoutScore(metric, cell?.without ?? {}, key);
    if (!cell || cell.mean === null)
      return [vm.h("span", { title: "no mean" }, "–"), reasons ?? vm.h("div.small.muted", {}, cell ? "no score" : "not in this run")];
    return [
      cellLink(row, metric, [
        vm.intervalPlot(cell, domain, metric, width),
        vm.h("span.mean", {}, vm.fixed(cell.mean, digits)),
        cell.low === null ? null : vm.h("span.span-ends", {}, ` [${vm.fixed(cell.low, digits)}, ${vm.fixed(cell.high, digits)}]`),
      ]),
      cell.clips < row.clips ? vm.h("div.small.muted", {}, `${cell.clips} of ${vm.count(row.clips, "clip")}`) : null,
      reasons,
    ];
  }

  /** @param {Board} board @param {string} metric @returns {[number, number]} */
  function domainOf(board, metric) {
    const cells = board.rows.map((row) => row.cells[metric]).filter(Boolean);
    return vm.domain(cells.flatMap((cell) => [cell.mean, cell.low, cell.high]), vm.columnInfo(metric).range);
  }

  /** @param {Board} board @param {string} metric @returns {string} */
  const titleOf = (board, metric) => vm.columnInfo(metric).title + (metric === "motion_index" && board.columns.includes(vm.OR_ZERO) ? ", of the clips judged" : "");

  /** @param {BoardRow} row */
  function rankCell(row) {
    const ends = rankInterval(row.shares);
    if (row.rank === null) return vm.h("td.n", { title: "not ranked" }, "–");
    const shares = row.shares.map((share, place) => `rank ${place + 1} in ${vm.fixed(100 * share, 0)} %`).filter((_, place) => row.shares[place] >= 0.005);
    return vm.h("td.n", {}, vm.h("span.mean", {}, String(row.rank)),
      ends && vm.h("div.small.muted", { title: `Of the bootstrap samples: ${shares.join(", ")}` }, ends[0] === ends[1] ? `${ends[0]}` : `${ends[0]} to ${ends[1]}`));
  }

  const ratings = () => vm.data.index.metrics.filter((metric) => metric.kind === "rating").map((metric) => metric.key);

  /** @type {Map<string, number[]> | null} */
  let clips = null;

  /** @param {string} model @returns {number[]} Rows of its clips. */
  function rowsOf(model) {
    if (!clips) {
      clips = new Map(vm.data.index.models.map((name) => [name, []]));
      for (let row = 0; row < vm.data.n; row++) clips.get(vm.data.model(row))?.push(row);
    }
    return clips.get(model) ?? [];
  }

  /** @type {Map<string, number | null>} */
  const rated = new Map();

  /** @param {string} metric @param {string} model @returns {number | null} Mean of a human rating. */
  function ratingOf(metric, model) {
    const key = JSON.stringify([metric, model]);
    if (!rated.has(key)) rated.set(key, vm.meanOf(metric, rowsOf(model)).mean);
    return rated.get(key) ?? null;
  }

  /** @param {Board} board */
  function table(board) {
    const { sort, desc } = vm.state, humans = ratings(), known = ["", "model", ...board.columns, ...humans].includes(sort);
    const domains = new Map(board.columns.map((metric) => [metric, domainOf(board, metric)]));
    /** @type {(row: BoardRow) => number | string | null | undefined} */
    const value = (row) => !known || sort === "" ? row.rank : sort === "model" ? row.model : humans.includes(sort) ? ratingOf(sort, row.model) : row.cells[sort]?.mean;
    const heads = board.columns.map((metric) => {
      const info = vm.columnInfo(metric);
      const more = [
        vm.h("div.small.muted.title", {}, titleOf(board, metric)), info.lower_is_better ? vm.h("div.small", {}, "lower is better") : null,
        vm.h("div.small.muted.scale-ends", {}, vm.endsOf(domains.get(metric)).map((/** @type {string} */ end) => vm.h("span", {}, end))),
      ];
      return vm.sortHeader(metric, { text: [vm.h("span.swatch", { "--colour": vm.columnColour(metric), "aria-hidden": "true" }), vm.columnLabel(metric, board.columns)], more, title: `Sort by ${info.title}`, best: info.lower_is_better ? "low" : "high" });
    });
    const ratingHeads = humans.map((key) => vm.sortHeader(key, { text: vm.columnInfo(key).label, more: vm.h("div.small.muted.title", {}, vm.columnInfo(key).title), title: `Sort by ${vm.columnInfo(key).title}`, best: "high", classes: ".n" }));
    const body = vm.ordered(board.rows, value, known && desc).map((/** @type {BoardRow} */ row) => vm.h("tr", {},
      rankCell(row),
      vm.h("th.first", { scope: "row" }, vm.h("a", { href: vm.link(clipsOf(row.model)), title: `Clips of ${row.model}` }, row.model), vm.h("div.small.muted", {}, vm.count(row.clips, "clip"))),
      board.columns.map((metric) => vm.h("td", {}, cellParts(board, row, metric, /** @type {[number, number]} */ (domains.get(metric))))),
      humans.map((key) => vm.h("td.n", {}, vm.fixed(ratingOf(key, row.model), 2)))));
    return vm.wide(`Models, ${board.label}`, vm.h("table.numbers.models", {},
      vm.h("thead", {}, vm.h("tr", {}, vm.sortHeader("", { text: "Rank", title: `Sort by rank in ${vm.columnInfo(board.by).title}`, best: "low", more: vm.h("div.small.muted.title", {}, "95 % interval") }),
        vm.sortHeader("model", { text: "Model", classes: ".first", best: "low" }), heads, ratingHeads)),
      vm.h("tbody", {}, body)));
  }

  /** @param {Board} board @returns {any} One model alone: its scores as a profile on one scale. */
  function profile(board) {
    const [row] = board.rows, width = 260;
    return vm.wide(`Scores of ${row.model}`, vm.h("table.numbers.profile", {},
      vm.h("caption", {}, vm.h("a", { href: vm.link(clipsOf(row.model)) }, row.model), `, ${vm.count(row.clips, "clip")}`),
      vm.h("thead", {}, vm.h("tr", {}, vm.h("th.first", { scope: "col" }, "Score"), vm.h("th", { scope: "col" }, "Mean"), vm.h("th", { scope: "col" }, "Scale"))),
      vm.h("tbody", {}, [...board.columns, ...ratings()].map((metric) => {
        const info = vm.columnInfo(metric), human = info.kind === "rating";
        const domain = info.range ?? domainOf(board, metric);
        const head = vm.h("th.first", { scope: "row" }, vm.h("span.swatch", { "--colour": vm.columnColour(metric), "aria-hidden": "true" }), vm.columnLabel(metric, board.columns), vm.h("div.small.muted", {}, titleOf(board, metric)));
        const mean = human ? vm.fixed(ratingOf(metric, row.model), 2) : cellParts(board, row, metric, domain, width);
        return vm.h("tr", {}, head, vm.h("td", {}, mean), vm.h("td.small.muted", {}, human || !info.range ? vm.scoreUnit(metric) : `${vm.scoreUnit(metric)}, ${info.lower_is_better ? "lower" : "higher"} is ${info.low_is_fault ? "better" : "more"}`));
      }))));
  }

  /** @param {Board} board */
  function steps(board) {
    if (!board.steps.length) return null;
    const lower = vm.columnInfo(board.by).lower_is_better;
    /** @type {(step: any) => [number, number | null, number | null]} */
    const advantage = ({ difference, low, high }) => lower ? [-difference, minus(high), minus(low)] : [difference, low, high];
    const sentences = board.steps.map((step) => {
      if (step.difference === null) return vm.h("li", {}, `${step.above} and ${step.below} share no prompt with a score.`);
      const p = step.p_holm ?? step.p, significant = p !== null && p < LEVEL;
      const amount = `${vm.withInterval(...advantage(step), vm.digitsOf(board.by))}`;
      const test = p === null ? "not tested" : `p\u00a0${p < 0.001 ? "" : "=\u00a0"}${vm.pValue(p)} (${step.p_holm === null ? "uncorrected" : "Holm"})`;
      return vm.h("li", {}, vm.h("b", {}, step.above), " is above ", vm.h("b", {}, step.below), ` by ${amount}, ${significant ? "" : "not significant, "}${test}, ${vm.count(step.prompts, "prompt")}`);
    });
    return [vm.h("h3", {}, `Steps between neighbours in ${vm.columnInfo(board.by).title}`), vm.h("ul.prose.steps", {}, sentences)];
  }

  /** @param {number} number @param {Board} board */
  function matrix(number, board) {
    const pairs = vm.data.index.pairs.filter((pair) => pair.board === number);
    if (!pairs.length) return null;
    const metrics = board.columns.filter((metric) => pairs.some((pair) => pair.metrics[metric]));
    const metric = metrics.includes(vm.state.metric) ? vm.state.metric : metrics.includes(board.by) ? board.by : metrics[0];
    /** @type {Map<string, PairedDifference>} */
    const differences = new Map();
    for (const pair of pairs) {
      const paired = pair.metrics[metric];
      if (!paired) continue;
      differences.set(JSON.stringify([modelOf(pair.a), modelOf(pair.b)]), paired);
      differences.set(JSON.stringify([modelOf(pair.b), modelOf(pair.a)]), { ...paired, difference: minus(paired.difference), low: minus(paired.high), high: minus(paired.low) });
    }
    const choice = vm.h("div.controls", {}, vm.metricSelect(metrics, metric, "Score"));
    const basis = `${vm.scoreUnit(metric)}, over the prompts that both have; p of a sign-flip test, Holm-corrected over the pairs of this score.`;
    if (board.rows.length > MOST_MODELS) return [vm.h("h3", {}, "Neighbours"), choice, vm.h("p.prose.muted", {}, `Mean of the first model less that of the second, ${basis}`), pairList(board, pairs, metric)];
    const names = board.rows.map((row) => row.model), info = vm.columnInfo(metric), digits = vm.digitsOf(metric);
    const most = Math.max(...[...differences.values()].map((pair) => Math.abs(pair.difference ?? 0)), 1e-9);
    const cell = (/** @type {string} */ row, /** @type {string} */ column) => {
      const pair = differences.get(JSON.stringify([row, column]));
      if (row === column || !pair || pair.difference === null) return vm.h("td.n.muted", {}, row === column ? "" : "–");
      const p = pair.p_holm ?? pair.p, significant = p !== null && p < LEVEL;
      const better = pair.difference > 0 !== info.lower_is_better;
      const tint = significant && better ? Math.round(10 + (22 * Math.abs(pair.difference)) / most) : 0;
      return vm.h(tint ? "td.n.tinted" : "td.n", { "--colour": vm.columnColour(metric), "--tint": `${tint}%`, title: `${row} less ${column}: ${vm.signed(pair.difference, digits)} [${vm.signed(pair.low, digits)}, ${vm.signed(pair.high, digits)}], ${vm.count(pair.prompts, "prompt")}` },
        vm.h(significant ? "b" : "span", {}, vm.signed(pair.difference, digits)), vm.h("div.small", {}, `p ${vm.pValue(p)}`));
    };
    return [
      vm.h("h3", {}, "Every two models"),
      choice,
      vm.h("p.prose.muted", {}, `Mean of the row's model less that of the column's, ${basis} Bold: p < ${LEVEL}; tinted: the row's model is better.`),
      vm.wide(`Every two models, ${board.label}`, vm.h("table.numbers.model-pairs", {},
        vm.h("thead", {}, vm.h("tr", {}, vm.h("th.first", { scope: "col" }, info.label), names.map((name) => vm.h("th.n.model-name", { scope: "col" }, name)))),
        vm.h("tbody", {}, names.map((row) => vm.h("tr", {}, vm.h("th.first", { scope: "row" }, row), names.map((column) => cell(row, column))))))),
    ];
  }

  /** @param {Board} board @param {ModelPair[]} pairs @param {string} metric */
  function pairList(board, pairs, metric) {
    const digits = vm.digitsOf(metric);
    const rows = pairs.map((pair) => {
      const { difference, low, high, p, p_holm: holm, prompts } = pair.metrics[metric];
      return vm.h("tr", {}, vm.h("th.first", { scope: "row" }, modelOf(pair.a)), vm.h("td.model-name", {}, modelOf(pair.b)),
        vm.h("td.n", {}, vm.signed(difference, digits), low === null ? null : ` [${vm.signed(low, digits)}, ${vm.signed(high, digits)}]`), vm.h("td.n", {}, vm.pValue(holm ?? p)), vm.h("td.n", {}, String(prompts)));
    });
    return vm.wide(`Neighbours, ${board.label}`, vm.h("table.numbers.model-pairs", {},
      vm.h("thead", {}, vm.h("tr", {}, vm.h("th.first", { scope: "col" }, "First"), vm.h("th", { scope: "col" }, "Second"), ["Difference", "p (Holm)", "Prompts"].map((head) => vm.h("th.n", { scope: "col" }, head)))),
      vm.h("tbody", {}, rows)));
  }

  /** @param {number | null} value */
  const minus = (value) => (value === null ? null : -value);

  /** @param {string} side "<run position>/<model>" @returns {string} */
  const modelOf = (side) => side.slice(side.indexOf("/") + 1);

  /** @param {Board} board @returns {any} Means of the clips that the filter shows. */
  function filtered(board) {
    const { rows, active } = vm.filtered();
    if (!active) return null;
    const metrics = [...board.columns.filter((metric) => vm.data.metric(metric) || metric === vm.OR_ZERO), ...ratings()], visible = new Set(rows);
    return [
      vm.h("h3", {}, "With the filter"),
      vm.h("p.prose", {}, `The table above covers all clips; the filter shows ${vm.count(rows.length, "clip")}. Their means, without intervals:`),
      vm.wide(`Means with the filter, ${board.label}`, vm.h("table.numbers.filtered", {},
        vm.h("thead", {}, vm.h("tr", {}, vm.h("th.first", { scope: "col" }, "Model"), vm.h("th.n", { scope: "col" }, "Clips"), metrics.map((metric) => vm.h("th.n", { scope: "col" }, vm.columnLabel(metric, metrics))))),
        vm.h("tbody", {}, board.rows.map((row) => {
          const own = rowsOf(row.model).filter((clip) => visible.has(clip));
          return vm.h("tr", {}, vm.h("th.first", { scope: "row" }, row.model), vm.h("td.n", {}, String(own.length)), metrics.map((metric) => vm.h("td.n", {}, vm.fixed(vm.meanOf(metric, own).mean, vm.digitsOf(metric)))));
        })))),
    ];
  }

  /** @returns {any} Correlation of scores with human ratings. */
  function agreement() {
    const rows = vm.data.index.agreement ?? [];
    if (!rows.length) return null;
    const dimensions = [...new Set(rows.map((row) => row.dimension))], metrics = [...new Set(rows.map((row) => row.metric))];
    const correlation = (/** @type {string} */ metric, /** @type {Correlation | null | undefined} */ of, more = null) => vm.h("td", {}, of
      ? [vm.intervalPlot({ mean: of.rho, low: of.low, high: of.high }, [-1, 1], metric), vm.h("span.mean", {}, vm.fixed(of.rho, 2)), of.low === null ? null : vm.h("span.span-ends", {}, ` [${vm.fixed(of.low, 2)}, ${vm.fixed(of.high, 2)}]`), more]
      : vm.h("span.muted", { title: "too few models or rated clips, or no amplitude" }, "–"));
    return vm.h("section", {},
      vm.h("h2", {}, "Agreement with human ratings"),
      vm.h("p.prose.muted", {}, "Spearman correlation (−1 to 1) of scores with mean ratings over all rated clips, its mean within models, and that with the amplitude of motion held constant, with 95 % bootstrap intervals. Above 0, score and people agree. “less motion” prefers the clip that moves less: a score should reach more."),
      vm.wide("Agreement with human ratings", vm.h("table.numbers.models", {},
        vm.h("thead", {},
          vm.h("tr", {}, vm.h("th.first", { scope: "col", rowspan: 2 }, "Score"), dimensions.map((dimension) => vm.h("th", { scope: "colgroup", colspan: 3 }, vm.columnInfo(`rating:${dimension}`).title))),
          vm.h("tr", {}, dimensions.map(() => ["All clips", "Within models", "Amplitude constant"].map((head) => vm.h("th", { scope: "col" }, head, vm.h("div.small.muted.scale-ends", {}, vm.h("span", {}, "−1"), vm.h("span", {}, "1"))))))),
        vm.h("tbody", {}, metrics.map((metric) => vm.h("tr", {},
          vm.h("th.first", { scope: "row" }, vm.columnInfo(metric).label, vm.columnInfo(metric).title === metric ? null : vm.h("div.small.muted", {}, vm.columnInfo(metric).title)),
          dimensions.map((dimension) => {
            const row = rows.find((other) => other.metric === metric && other.dimension === dimension);
            return [correlation(metric, row, row && vm.h("div.small.muted", {}, vm.count(row.clips, "clip"))), correlation(metric, row?.within_model), correlation(metric, row?.amplitude_constant)];
          })))))));
  }

  /** @param {Board} board @param {number} number */
  function section(board, number) {
    const cut = board.label.indexOf(": "), [head, remark] = cut < 0 ? [board.label, ""] : [board.label.slice(0, cut), board.label.slice(cut + 2)];
    const several = vm.data.index.boards.length > 1;
    const warnings = [remark, !board.comparable && !/not comparable/.test(remark) ? "not comparable with published VMBench numbers" : "", several ? "not comparable with the other tables of this page" : ""].filter(Boolean);
    const single = board.rows.length === 1, [first] = board.rows;
    const basis = single && first.prompts < 3 ? `${vm.count(first.prompts, "prompt")}: too few for intervals` : `${vm.count(board.prompts, "prompt")}; intervals are 95 % bootstrap intervals over prompts`;
    return vm.h("section", {},
      vm.h("h2", {}, head[0].toUpperCase() + head.slice(1)),
      warnings.length ? vm.h("p.warning", {}, `${warnings.join("; ")}.`) : null,
      vm.h("p.prose.muted", {}, `Means over clips of ${basis}.${single ? "" : ` Ranked by ${vm.columnInfo(board.by).title}. A model opens its clips; a number opens them worst first.`}`),
      single ? profile(board) : table(board), filtered(board), steps(board), matrix(number, board),
      board.notes.length ? vm.h("details.prose", { "data-key": `notes ${board.label}` }, vm.h("summary", {}, vm.count(board.notes.length, "note")), vm.h("ul", {}, board.notes.map((note) => vm.h("li", {}, note)))) : null);
  }

  vm.views.push({
    key: "leaderboard", title: "Models", available: () => true,
    open: (root) => {
      const update = () => vm.refill(root, vm.data.index.boards.length
        ? [vm.data.index.boards.map(section), agreement()]
        : vm.h("p.empty", {}, "No clip of these runs has a score that a table could show. The notes are under ", vm.h("a", { href: vm.link({ view: "about" }) }, "About"), "."));
      update();
      return { update, close: () => {} };
    },
  });
})();
