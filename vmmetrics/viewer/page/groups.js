// Means by the values of a tag: a table per tag, tinted by value within its column.

import { count, fixed, h, select, views } from "./core.js";
import { OR_ZERO, data } from "./data.js";
import { columnColour, columnInfo, columnLabel, digitsOf, interval, scoreUnit } from "./numbers.js";
import { go, link, state } from "./state.js";
import { head, ordered, refilled, rowHead, sortHeader, table } from "./tables.js";

const FEW = 5; // clips below which a mean is said to rest on few
const STRONGEST = 30; // % of the metric's colour behind the largest mean of a column

/** @param {TagGroup} group @returns {string} "<run position>/<model>", the model empty for all clips. */
const sideOf = (group) => `${group.run}/${group.model ?? ""}`;

/** @param {string} side */
function sideTitle(side) {
  const cut = side.indexOf("/"),
    run = data.index.runs[Number(side.slice(0, cut))]?.name ?? "",
    model = side.slice(cut + 1);
  return data.index.runs.length > 1 ? `${model || "all models"}, run ${run}` : model || "all models";
}

/** @param {TagGroup} group @returns {Partial<State>} The gallery with the clips of a group. */
const clipsOf = (group) => ({
  view: "gallery",
  q: "",
  where: "",
  ranges: {},
  clip: "",
  facets: {
    [`tag.${group.tag}`]: [group.value],
    ...(group.model === null ? {} : { model: [group.model] }),
    ...(data.index.runs.length > 1 ? { run: [data.index.runs[group.run].name] } : {}),
  },
});

/** @param {TagGroup} group @param {string} metric @param {[number, number]} domain */
function cell(group, metric, domain) {
  const cell = group.means[metric];
  if (!cell) return h("td.n.muted", { title: "no clip has this score" }, "–");
  const tint = Math.round((STRONGEST * (cell.mean - domain[0])) / (domain[1] - domain[0] || 1));
  const sparse = cell.clips < group.clips || cell.clips < FEW;
  const info = columnInfo(metric),
    digits = digitsOf(metric);
  return h(
    "td.n.heat",
    { "--colour": columnColour(metric), "--tint": `${tint}%` },
    h(
      "a.plain",
      {
        href: link({ ...clipsOf(group), sort: metric, desc: info.lower_is_better }),
        title: `Clips of ${group.value}, worst ${info.label} first`,
      },
      h("span.mean", fixed(cell.mean, digits)),
      h("div.small", interval(cell.low, cell.high, digits).trim()),
    ),
    sparse ? h("div.small", count(cell.clips, "clip")) : null,
  );
}

/** @param {string} tag @param {TagGroup[]} groups */
function means(tag, groups) {
  const collapsed = groups.some(({ means }) => (means[OR_ZERO]?.clips ?? 0) > (means.motion_index?.clips ?? 0));
  const keys = [...(collapsed ? [OR_ZERO] : []), ...data.index.metrics.map(({ key }) => key)];
  const metrics = keys.filter((key) => groups.some((group) => group.means[key]));
  const domains = new Map(
    metrics.map((key) => {
      const means = groups.flatMap((group) => (group.means[key] ? [group.means[key].mean] : []));
      return [key, /** @type {[number, number]} */ ([Math.min(...means), Math.max(...means)])];
    }),
  );
  const { sort, desc } = state,
    order = metrics.includes(sort) ? ordered(groups, (group) => group.means[sort]?.mean, desc) : groups;
  const heads = metrics.map((key) => {
    const info = columnInfo(key);
    return sortHeader(key, {
      text: columnLabel(key, metrics),
      title: `Sort by ${info.title}`,
      best: info.lower_is_better ? "low" : "high",
      classes: ".n",
      more: h("div.small.muted", scoreUnit(key)),
    });
  });
  const first = sortHeader("", { text: tag, classes: ".first", title: "In the order of the data", best: "low" });
  const rows = order.map((group) => [
    rowHead(h("a", { href: link(clipsOf(group)), title: `Clips of ${group.value}` }, group.value)),
    h("td.n", group.clips),
    metrics.map((key) => cell(group, key, /** @type {[number, number]} */ (domains.get(key)))),
  ]);
  return [h("h3", tag), table(`Means by ${tag}`, ".groups", [first, head("Clips", ".n"), heads], rows)];
}

const EXPLANATION =
  "Mean and 95 % bootstrap interval over clips. The stronger a cell is tinted, the higher its mean within the " +
  `column. The number of clips stands where it is below ${FEW} or some have no score. A value opens its clips, ` +
  "a mean opens them worst first.";

views.push({
  key: "groups",
  title: "By tag",
  available: () => data.index.groups.length > 0,
  open: refilled(() => {
    const { groups } = data.index,
      sides = [...new Set(groups.map(sideOf))];
    const side = sides.includes(state.a) ? state.a : sides[0],
      chosen = groups.filter((group) => sideOf(group) === side);
    const tags = ordered([...new Set(chosen.map((group) => group.tag))], (tag) => Number(tag !== "pattern"), false);
    const options = sides.map((other) => /** @type {[string, string]} */ ([other, sideTitle(other)]));
    const choice = select(options, side, (a) => go({ a }), { "data-key": "side" });
    return [
      h("h2", `Means by tag, ${sideTitle(side)}`),
      sides.length > 1 && h("div.controls", h("label.choice", "Clips of ", choice)),
      h("p.prose.muted", EXPLANATION),
      tags.map((tag) => {
        const ofTag = chosen.filter((group) => group.tag === tag);
        return means(tag, ofTag);
      }),
    ];
  }),
});
