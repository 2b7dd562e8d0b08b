// A candidate run against a baseline: what got worse first, clip pair by clip pair.
"use strict";

(() => {
  const LEVEL = 0.05, PAGE = 100;

  /** @typedef {{ before: number, after: number, fall: number | null, lost: string[], gained: string[], events: { metric: string, reason: string }[] }} Pair fall: of the chosen score, above 0 where it got worse. */

  /** @returns {{ change: number, page: number }} From `state.pair`: "<change>.<page>". */
  function position() {
    const [change, page] = vm.state.pair.split(".").map((/** @type {string} */ part) => Math.max(0, Math.trunc(Number(part)) || 0));
    return { change: change < vm.data.index.changes.length ? change : 0, page: page ?? 0 };
  }

  /** @param {string} metric @returns {string} */
  const label = (metric) => vm.columnInfo(metric).label;

  /** @param {RunChange["rows"][number]} row @returns {number} Amount by which it got worse. */
  const loss = (row) => (row.difference === null ? NaN : row.lower_is_better ? row.difference : -row.difference);

  /** @param {RunChange} change @returns {string[]} Scores, the one that got worse most first. */
  function metricsOf(change) {
    const rows = change.rows.filter((row) => row.model === null);
    return [...new Set(vm.ordered(rows.length ? rows : change.rows, loss, true).map((/** @type {any} */ row) => row.metric))];
  }

  /** @param {RunChange} change @param {string} metric @returns {Pair[]} What got worse most first, pairs without a difference last. */
  function pairsOf(change, metric) {
    const keys = vm.data.index.metrics.filter(({ kind }) => kind !== "rating").map(({ key }) => key);
    const scores = vm.data.scores(metric), sign = vm.columnInfo(metric).lower_is_better ? 1 : -1;
    const pairs = change.pairs.map(([before, after]) => {
      const had = new Set(vm.data.events(before).map((event) => `${event.metric} ${event.reason}`));
      const has = (/** @type {string} */ key, /** @type {number} */ row) => !Number.isNaN(vm.data.scores(key)[row]);
      const difference = sign * (scores[after] - scores[before]);
      return {
        before, after, fall: Number.isNaN(difference) ? null : difference,
        lost: keys.filter((key) => has(key, before) && !has(key, after)), gained: keys.filter((key) => !has(key, before) && has(key, after)),
        events: vm.data.events(after).filter((event) => !had.has(`${event.metric} ${event.reason}`)),
      };
    });
    return vm.ordered(pairs, (/** @type {Pair} */ pair) => pair.fall, true);
  }

  /** @param {RunChange["rows"][number]} row @returns {string} Result in words. */
  function resultOf(row) {
    const amount = loss(row), fault = vm.columnInfo(row.metric).low_is_fault;
    if (Number.isNaN(amount)) return "no clip with both";
    if (amount === 0) return "equal";
    return amount > 0 ? (fault ? "worse" : "less") : fault ? "better" : "more";
  }

  /** @param {string} name @param {RunChange["rows"]} rows */
  function means(name, rows) {
    const models = rows.some((row) => row.model !== null);
    const cells = (/** @type {RunChange["rows"][number]} */ row) => {
      const p = row.p_holm, significant = p !== null && p < LEVEL, result = resultOf(row), digits = vm.digitsOf(row.metric);
      return vm.h("tr", {},
        vm.h("th.first", { scope: "row" }, vm.h("span.swatch", { "--colour": vm.columnColour(row.metric), "aria-hidden": "true" }), label(row.metric), row.metric === "motion_index" && rows.some(({ metric }) => metric === vm.OR_ZERO) ? ", judged in both" : null, models ? vm.h("div.small.muted", {}, row.model ?? "all clips") : null),
        vm.h("td.n", {}, vm.fixed(row.before, digits)), vm.h("td.n", {}, vm.fixed(row.after, digits)),
        vm.h("td.n", {}, vm.h(significant ? "b" : "span", {}, vm.signed(row.difference, digits)), row.low === null ? null : vm.h("span.small.muted", {}, ` [${vm.signed(row.low, digits)}, ${vm.signed(row.high, digits)}]`)),
        vm.h("td", {}, significant ? vm.h("b", {}, result) : `${result}${p === null ? "" : ", not significant"}`),
        vm.h("td.n", {}, vm.pValue(p)), vm.h("td.n", {}, String(row.clips)), vm.h("td.n", {}, String(row.prompts)), vm.h("td.n", {}, String(row.lost)), vm.h("td.n", {}, String(row.gained)));
    };
    const heads = ["Before", "After", "Difference", "Result", "p (Holm)", "Clips", "Prompts", "Scores lost", "Scores gained"];
    return vm.wide(name, vm.h("table.numbers.means", {},
      vm.h("thead", {}, vm.h("tr", {}, vm.h("th.first", { scope: "col" }, "Score"), heads.map((head) => vm.h(head === "Result" ? "th" : "th.n", { scope: "col" }, head)))),
      vm.h("tbody", {}, vm.ordered(rows, loss, true).map(cells))));
  }

  /** @param {RunChange} change */
  function allMeans(change) {
    const all = change.rows.filter((row) => row.model === null), ofModels = change.rows.filter((row) => row.model !== null);
    return [
      all.length ? means("Means before and after", all) : null,
      ofModels.length ? vm.h("details.by-model", { open: !all.length, "data-key": "by model" }, vm.h("summary", {}, "By model"), means("Means by model", ofModels)) : null,
    ];
  }

  /** @param {number} row @param {string} side */
  function poster(row, side) {
    const source = vm.data.poster(row);
    return source ? vm.h("img", { src: source, alt: side, loading: "lazy", decoding: "async", width: 96, height: 72 }) : vm.h("span.without-poster.small.muted", {}, "no poster");
  }

  /** @param {Pair} pair @param {string} metric @param {RunChange} change */
  function item(pair, metric, change) {
    const scores = vm.data.scores(metric), { before, after } = pair;
    const href = vm.link({ view: "compare", a: `${change.before}/${vm.data.model(before)}`, b: `${change.after}/${vm.data.model(after)}`, clip: vm.data.id(before), frame: 0, pair: "" });
    const why = (/** @type {string} */ key, /** @type {number} */ row) => `${label(key)}: ${vm.data.missing(key, row).reason}`;
    const difference = scores[after] - scores[before];
    return vm.h("li.pair-item", {},
      vm.h("a.both", { href, "aria-hidden": "true", tabindex: -1 }, poster(before, "before"), poster(after, "after")),
      vm.h("div", {},
        vm.h("a", { href }, vm.data.name(after)), vm.data.name(before) === vm.data.name(after) ? null : vm.h("span.small.muted", {}, ` was ${vm.data.name(before)}`),
        vm.data.prompt(after) ? vm.h("div.small.muted", {}, vm.data.prompt(after)) : null,
        vm.h("div", {}, `${label(metric === vm.OR_ZERO ? "motion_index" : metric)} ${vm.data.shown(metric, before)} → ${vm.data.shown(metric, after)}`, Number.isNaN(difference) ? null : vm.h("b", {}, `, ${vm.signed(difference, vm.digitsOf(metric))}`)),
        pair.events.length ? vm.h("div.small", {}, "New events: ", pair.events.map((event, place) => [place ? "; " : "", vm.h("span", {}, vm.h("span.swatch", { "--colour": vm.colour(event.metric), "aria-hidden": "true" }), `${label(event.metric)} ${event.reason}`)])) : null,
        pair.lost.length ? vm.h("div.small", {}, `Scores lost: ${pair.lost.map((key) => why(key, after)).join("; ")}`) : null,
        pair.gained.length ? vm.h("div.small", {}, `Scores gained: ${pair.gained.map((key) => `${label(key)} (was: ${vm.data.missing(key, before).reason})`).join("; ")}`) : null));
  }

  /** @param {RunChange} change @param {number} number @param {number} page */
  function pairs(change, number, page) {
    const metrics = metricsOf(change).filter((key) => vm.data.metric(key) || key === vm.OR_ZERO);
    const metric = [vm.state.metric, vm.OR_ZERO].find((key) => metrics.includes(key)) ?? metrics[0];
    if (!change.pairs.length || !metric) return vm.h("p.empty", {}, "No clip of one run has its like in the other.");
    const all = pairsOf(change, metric), pages = Math.ceil(all.length / PAGE), at = Math.min(page, pages - 1);
    const turn = (/** @type {string} */ text, /** @type {number} */ to) => vm.h("button", { disabled: to < 0 || to >= pages, "data-key": text, onclick: () => vm.go({ pair: `${number}.${to}` }) }, text);
    const worse = all.filter((pair) => pair.fall !== null && pair.fall > 0).length;
    return [
      vm.h("h3", {}, "Clips, what got worse first"),
      vm.h("div.controls", {}, vm.metricSelect(metrics, metric, "Score"),
        vm.h("span.muted", {}, `${vm.columnInfo(metric).low_is_fault ? "worse" : "less"} in ${worse.toLocaleString("en")} of ${vm.count(all.length, "pair")}`)),
      vm.h("ol.pair-list", { start: at * PAGE + 1 }, all.slice(at * PAGE, (at + 1) * PAGE).map((pair) => item(pair, metric, change))),
      pages > 1 ? vm.h("div.controls", {}, turn("Previous", at - 1), vm.h("span", {}, `Page ${at + 1} of ${pages}`), turn("Next", at + 1)) : null,
    ];
  }

  /** @param {string} title @param {string[]} names */
  const names = (title, names) => names.length ? vm.h("details", { "data-key": title }, vm.h("summary", {}, `${title}: ${vm.count(names.length, "clip")}`), vm.h("ul", {}, names.map((name) => vm.h("li", {}, name)))) : null;

  vm.views.push({
    key: "changes", title: "Between runs", available: () => vm.data.index.changes.length > 0,
    open: (root) => {
      const update = () => {
        const { changes, runs } = vm.data.index, { change: number, page } = position(), change = changes[number];
        const title = (/** @type {RunChange} */ { before, after }) => `${runs[before].name} → ${runs[after].name}`;
        const choose = (/** @type {any} */ event) => vm.go({ pair: `${event.target.value}.0` });
        const paired = Object.entries(change.paired_by).map(([by, clips]) => `${vm.count(clips, "clip")} by ${by}`).join(", ");
        vm.refill(root,
          vm.h("h2", {}, title(change)),
          changes.length > 1 ? vm.h("div.controls", {}, vm.h("label.choice", {}, "Runs ", vm.h("select", { onchange: choose, "data-key": "runs" }, changes.map((other, place) => vm.h("option", { value: place, selected: place === number }, title(other)))))) : null,
          change.refused !== null ? vm.h("p.note", {}, `These two runs cannot be compared: ${change.refused}.`) : [
            vm.h("p.prose.muted", {}, `Baseline ${runs[change.before].name}, candidate ${runs[change.after].name}${paired ? `; paired: ${paired}` : ""}. Means over prompts of clips with a score in both; the difference with its 95 % bootstrap interval over prompts; p of a sign-flip test, Holm-corrected. What got worse stands first.`),
            allMeans(change), pairs(change, number, page), names(`Only in ${runs[change.before].name}`, change.gone), names(`Only in ${runs[change.after].name}`, change.new),
          ],
          change.notes.length ? vm.h("ul.prose.muted", {}, change.notes.map((note) => vm.h("li", {}, note))) : null);
      };
      update();
      return { update, close: () => {} };
    },
  });
})();
