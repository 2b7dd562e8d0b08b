// Means by the values of a tag: a table per tag, tinted by value within its column.
"use strict";

(() => {
  const FEW = 5; // clips below which a mean is said to rest on few
  const STRONGEST = 30; // % of the metric's colour behind the largest mean of a column

  /** @param {TagGroup} group @returns {string} "<run position>/<model>", the model empty for all clips. */
  const sideOf = (group) => `${group.run}/${group.model ?? ""}`;

  /** @param {string} side */
  function sideTitle(side) {
    const cut = side.indexOf("/"), run = vm.data.index.runs[Number(side.slice(0, cut))]?.name ?? "", model = side.slice(cut + 1);
    return vm.data.index.runs.length > 1 ? `${model || "all models"}, run ${run}` : model || "all models";
  }

  /** @param {TagGroup} group @returns {Partial<State>} The gallery with the clips of a group. */
  const clipsOf = (group) => ({
    view: "gallery", q: "", where: "", ranges: {}, clip: "",
    facets: {
      [`tag.${group.tag}`]: [group.value], ...(group.model === null ? {} : { model: [group.model] }),
      ...(vm.data.index.runs.length > 1 ? { run: [vm.data.index.runs[group.run].name] } : {}),
    },
  });

  /** @param {TagGroup} group @param {string} metric @param {[number, number]} domain */
  function cell(group, metric, domain) {
    const cell = group.means[metric];
    if (!cell) return vm.h("td.n.muted", { title: "no clip has this score" }, "–");
    const tint = Math.round((STRONGEST * (cell.mean - domain[0])) / (domain[1] - domain[0] || 1));
    const sparse = cell.clips < group.clips || cell.clips < FEW;
    const info = vm.columnInfo(metric), text = (/** @type {number | null} */ value) => vm.fixed(value, vm.digitsOf(metric));
    return vm.h("td.n.heat", { "--colour": vm.columnColour(metric), "--tint": `${tint}%` },
      vm.h("a.plain", { href: vm.link({ ...clipsOf(group), sort: metric, desc: info.lower_is_better }), title: `Clips of ${group.value}, worst ${info.label} first` },
        vm.h("span.mean", {}, text(cell.mean)), cell.low === null ? null : vm.h("div.small", {}, `[${text(cell.low)}, ${text(cell.high)}]`)),
      sparse ? vm.h("div.small", {}, vm.count(cell.clips, "clip")) : null);
  }

  /** @param {string} tag @param {TagGroup[]} groups */
  function table(tag, groups) {
    const collapsed = groups.some(({ means }) => (means[vm.OR_ZERO]?.clips ?? 0) > (means.motion_index?.clips ?? 0));
    const keys = [...(collapsed ? [vm.OR_ZERO] : []), ...vm.data.index.metrics.map(({ key }) => key)];
    const metrics = keys.filter((key) => groups.some((group) => group.means[key]));
    const domains = new Map(metrics.map((key) => {
      const means = groups.flatMap((group) => (group.means[key] ? [group.means[key].mean] : []));
      return [key, /** @type {[number, number]} */ ([Math.min(...means), Math.max(...means)])];
    }));
    const { sort, desc } = vm.state, order = metrics.includes(sort) ? vm.ordered(groups, (/** @type {TagGroup} */ group) => group.means[sort]?.mean, desc) : groups;
    const heads = metrics.map((key) => {
      const info = vm.columnInfo(key);
      return vm.sortHeader(key, { text: vm.columnLabel(key, metrics), title: `Sort by ${info.title}`, best: info.lower_is_better ? "low" : "high", classes: ".n", more: vm.h("div.small.muted", {}, vm.scoreUnit(key)) });
    });
    return [vm.h("h3", {}, tag), vm.wide(`Means by ${tag}`, vm.h("table.numbers.groups", {},
      vm.h("thead", {}, vm.h("tr", {}, vm.sortHeader("", { text: tag, classes: ".first", title: "In the order of the data", best: "low" }), vm.h("th.n", { scope: "col" }, "Clips"), heads)),
      vm.h("tbody", {}, order.map((/** @type {TagGroup} */ group) => vm.h("tr", {},
        vm.h("th.first", { scope: "row" }, vm.h("a", { href: vm.link(clipsOf(group)), title: `Clips of ${group.value}` }, group.value)),
        vm.h("td.n", {}, String(group.clips)), metrics.map((key) => cell(group, key, /** @type {[number, number]} */ (domains.get(key)))))))))];
  }

  vm.views.push({
    key: "groups", title: "By tag", available: () => vm.data.index.groups.length > 0,
    open: (root) => {
      const update = () => {
        const { groups } = vm.data.index, sides = [...new Set(groups.map(sideOf))];
        const side = sides.includes(vm.state.a) ? vm.state.a : sides[0], chosen = groups.filter((group) => sideOf(group) === side);
        const tags = vm.ordered([...new Set(chosen.map((group) => group.tag))], (/** @type {string} */ tag) => Number(tag !== "pattern"), false);
        const choose = (/** @type {any} */ event) => vm.go({ a: event.target.value });
        vm.refill(root,
          vm.h("h2", {}, `Means by tag, ${sideTitle(side)}`),
          sides.length > 1 ? vm.h("div.controls", {}, vm.h("label.choice", {}, "Clips of ", vm.h("select", { onchange: choose, "data-key": "side" }, sides.map((other) => vm.h("option", { value: other, selected: other === side }, sideTitle(other)))))) : null,
          vm.h("p.prose.muted", {}, `Mean and 95 % bootstrap interval over clips. The stronger a cell is tinted, the higher its mean within the column. The number of clips stands where it is below ${FEW} or some have no score. A value opens its clips, a mean opens them worst first.`),
          tags.map((/** @type {string} */ tag) => table(tag, chosen.filter((group) => group.tag === tag))));
      };
      update();
      return { update, close: () => {} };
    },
  });
})();
