// The filter bar that gallery, distributions and leaderboard share, and the export of what passes.

import { button, count, h, list, score } from "./core.js";
import { exportCsv } from "./csv.js";
import { colour, data } from "./data.js";
import {
  columnOf,
  facetColumn,
  facetCounts,
  fieldOf,
  fieldTitle,
  matchCount,
  noFilter,
  rangeText,
  whereError,
} from "./filter.js";
import { go, onState, state } from "./state.js";

const TYPING = 100; // milliseconds
const LONG = 10,
  MOST_VALUES = 60; // of a facet: a search box above, and rows in the list
const MOST_NUMBERS = 40; // distinct values up to which a numeric tag is a facet
const wide = matchMedia("(min-width: 900px)");

/** @typedef {{ root: HTMLElement, refresh(state: State): void }} Part */

/** @param {Partial<State>} changes */
const typed = (changes) => go(changes, { replace: true });

/** @param {(value: string) => void} work @returns {(event: Event) => void} Runs when the typing pauses. */
function debounced(work) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (event) => {
    const { value } = /** @type {HTMLInputElement} */ (event.target);
    clearTimeout(timer);
    timer = setTimeout(() => work(value), TYPING);
  };
}

/**
 * @param {HTMLInputElement | HTMLTextAreaElement} input
 * @param {string} value Left alone while the reader types in it.
 */
function fill(input, value) {
  if (input.value !== value && !(document.activeElement === input && input.value.trim() === value.trim()))
    input.value = value;
}

/** @returns {string[]} Names of the facets that have something to choose. */
function facetNames() {
  const { runs, models, tags, metrics } = data.index;
  /** @param {string} name */
  const some = (name) => {
    const { codes, lists } = /** @type {TextColumn} */ (facetColumn(name));
    return codes ? codes.some((code) => code >= 0) : lists.some((list) => list.length);
  };
  const ofTags = tags
    .map((tag) => `tag.${tag.name}`)
    .filter(
      (name) =>
        some(name) && (columnOf(name)?.kind === "text" || (facetColumn(name)?.values.length ?? 0) <= MOST_NUMBERS),
    );
  const reasons = [
    "event",
    "error",
    ...metrics.filter((metric) => metric.kind !== "rating").map((metric) => `missing.${metric.key}`),
  ];
  return [
    ...(runs.length > 1 ? ["run"] : []),
    ...(models.length > 1 ? ["model"] : []),
    ...ofTags,
    ...reasons.filter(some),
  ];
}

/** @param {string} facet @param {string} value @param {boolean} chosen */
function choose(facet, value, chosen) {
  const picked = /** @type {string[]} */ (state.facets[facet] ?? []);
  const values = picked.filter((other) => other !== value);
  const facets = { ...state.facets, [facet]: chosen ? [...values, value] : values };
  if (!facets[facet].length) delete facets[facet];
  go({ facets });
}

/** @param {string} name @param {number} low @param {number} high @param {{ replace?: boolean }} [options] */
function setRange(name, low, high, options) {
  const ranges = { ...state.ranges, [name]: /** @type {[number, number]} */ ([low, high]) };
  if (low === -Infinity && high === Infinity) delete ranges[name];
  go({ ranges }, options);
}

/** @returns {Part} */
function searchBox() {
  const input = h("input", {
    type: "search",
    placeholder: "name, model, prompt, reason",
    autocomplete: "off",
    spellcheck: "false",
    oninput: debounced((q) => typed({ q })),
  });
  return { root: h("label.field", "Search", input), refresh: (state) => fill(input, state.q) };
}

/** @returns {[string, string][]} Fields of expressions, and what they hold. */
function fields() {
  const { metrics, tags } = data.index;
  return [
    [metrics.map(({ key }) => fieldOf(key)).join(", "), "scores"],
    ["frames, fps", "numbers"],
    ["clip, model, run, prompt", "texts"],
    ["event", "reasons of events that cost points; true if one of them matches"],
    ["error", "why the clip failed"],
    [`missing.${metrics.filter((metric) => metric.kind === "metric").at(-1)?.key ?? "tcs"}`, "why a score is missing"],
    ...(tags.length
      ? [
          /** @type {[string, string]} */ ([
            tags
              .map((tag) =>
                /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(tag.name) && !columnOf(tag.name)
                  ? tag.name
                  : `tag.${JSON.stringify(tag.name)}`,
              )
              .join(", "),
            "tags",
          ]),
        ]
      : []),
  ];
}

/** @returns {string[]} Expressions that mean something in this report. */
function examples() {
  const { metrics, events, models } = data.index;
  const keys = metrics.filter((metric) => metric.kind === "metric").map((metric) => metric.key),
    last = keys.at(-1) ?? "tcs";
  const list = [
    `${last} < 0.5${models.length > 1 ? ` and model == ${JSON.stringify(models[0])}` : ""}`,
    `missing ${last} or has error`,
  ];
  if (events.length) list.push(`event contains ${JSON.stringify(events[0].reason.split(" ")[0])}`);
  return [...list, `frames in (16, 49) and not (prompt contains "dog")`];
}

/** @returns {Part} */
function expressionBox() {
  const error = h("p.fault.small", { id: "where-error", role: "status" });
  const input = h("textarea", {
    rows: 2,
    placeholder: "tcs < 0.5 and frames > 16",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": "where-error",
    oninput: debounced((where) => typed({ where })),
  });
  const help = h(
    "details.help.small",
    h("summary", { text: "Fields and examples" }),
    h(
      "dl",
      fields().map(([names, what]) => [h("dt", h("code", { text: names })), h("dd", { text: what })]),
    ),
    h(
      "p",
      "Compare with ",
      h("code", { text: "< <= > >= == != contains in (…)" }),
      ", join with ",
      h("code", { text: "and or not" }),
      " and parentheses. Texts stand in quotes. A comparison with a missing value is false; ",
      h("code", { text: "missing tcs" }),
      " and ",
      h("code", { text: "has tcs" }),
      " ask for it.",
    ),
    list(examples().map((where) => button(where, () => go({ where }), { class: "example" }))),
  );
  return {
    root: h("div", h("label.field", "Expression", input), error, help),
    refresh: (state) => {
      fill(input, state.where);
      const wrong = whereError(state);
      input.setAttribute("aria-invalid", String(Boolean(wrong)));
      error.textContent = wrong
        ? `Character ${wrong.at + 1}: ${wrong.message}. The last expression without a mistake counts.`
        : "";
    },
  };
}

/** @param {string} name @returns {Part} A group of values, filled when it opens. */
function facet(name) {
  const { values } = /** @type {TextColumn} */ (facetColumn(name));
  const totals = facetCounts(name, { ...state, ...noFilter() });
  const present = values
    .map((value, code) => ({ value, code, total: totals.counts[code] }))
    .filter((option) => option.total)
    .sort((a, b) => b.total - a.total);
  if (totals.none && name.startsWith("tag.")) present.push({ value: "", code: -1, total: totals.none });
  const list = h("ul.options"),
    chosen = h("span.muted");
  /** @type {Map<string, { box: HTMLInputElement, count: HTMLElement, row: HTMLElement, code: number }>} */
  const rows = new Map();
  let sought = "";
  const show = () => {
    const words = sought.toLowerCase().split(/\s+/);
    const matches = present.filter(({ value }) => words.every((word) => value.toLowerCase().includes(word)));
    rows.clear();
    list.replaceChildren(
      ...matches.slice(0, MOST_VALUES).map(({ value, code }) => {
        const box = h("input", { type: "checkbox", onchange: () => choose(name, value, box.checked) }),
          count = h("span.n.muted");
        const row = h("li", h("label", box, h("span.value", { text: value || "none", title: value }), count));
        rows.set(value, { box, count, row, code });
        return row;
      }),
    );
    if (matches.length > MOST_VALUES)
      list.append(h("li.muted.small", { text: `${matches.length - MOST_VALUES} more: search for them` }));
    if (!matches.length) list.append(h("li.muted.small", { text: "no match" }));
  };
  const search =
    present.length > LONG &&
    h("input", {
      type: "search",
      placeholder: `search ${present.length} values`,
      "aria-label": `Search ${fieldTitle(name)}`,
      oninput: debounced((text) => {
        sought = text;
        show();
        refresh(state);
      }),
    });
  const root = h(
    "details.facet",
    { ontoggle: () => refresh(state) },
    h("summary", h("span", { text: fieldTitle(name) }), " ", chosen),
    search,
    list,
  );
  /** @param {State} state */
  const refresh = (state) => {
    const picked = Object.hasOwn(state.facets, name) ? state.facets[name] : [];
    chosen.textContent = picked.length ? `${picked.length} chosen` : `${present.length}`;
    if (!root.open) return;
    if (!list.hasChildNodes()) show();
    const { counts, none } = facetCounts(name, state);
    for (const [value, { box, count, row, code }] of rows) {
      const number = code < 0 ? none : counts[code];
      box.checked = picked.includes(value);
      count.textContent = number.toLocaleString("en");
      row.classList.toggle("muted", !number);
    }
  };
  return { root, refresh };
}

/** @returns {Part} */
function ranges() {
  const inputs = data.index.metrics.map((metric) => {
    const { key, label, title } = metric;
    const present = data.scores(key).filter((score) => !Number.isNaN(score));
    const ends = present.reduce(
      ([low, high], score) => [Math.min(low, score), Math.max(high, score)],
      [Infinity, -Infinity],
    );
    /** @param {string} text @param {number} otherwise */
    const end = (text, otherwise) => (text.trim() && !Number.isNaN(Number(text)) ? Number(text) : otherwise);
    const [low, high] = ["least", "most"].map((side, position) =>
      h("input", {
        type: "number",
        step: "any",
        "aria-label": `${label}, ${side}`,
        placeholder: present.length ? score(ends[position]) : "–",
        oninput: debounced(() =>
          setRange(key, end(low.value, -Infinity), end(high.value, Infinity), { replace: true }),
        ),
      }),
    );
    return {
      key,
      low,
      high,
      root: h(
        "div.range",
        { "--colour": colour(key) },
        h("span.name", { text: label, title }),
        low,
        h("span.muted", { text: "to" }),
        high,
      ),
    };
  });
  const chosen = h("span.muted");
  return {
    root: h(
      "details.facet",
      h("summary", h("span", { text: "Ranges of scores" }), " ", chosen),
      inputs.map((input) => input.root),
    ),
    refresh: (state) => {
      const count = Object.keys(state.ranges).length;
      chosen.textContent = count ? `${count} chosen` : "";
      for (const { key, low, high } of inputs) {
        const [from, to] = Object.hasOwn(state.ranges, key) ? state.ranges[key] : [-Infinity, Infinity];
        if (document.activeElement !== low) low.value = Number.isFinite(from) ? String(+from.toPrecision(6)) : "";
        if (document.activeElement !== high) high.value = Number.isFinite(to) ? String(+to.toPrecision(6)) : "";
      }
    },
  };
}

/** @param {State} state @returns {HTMLElement[]} What is active, each with a button that removes it. */
function chips(state) {
  /** @param {string} text @param {() => void} remove */
  const chip = (text, remove) =>
    h("li.chip", h("span", { text, title: text }), button("×", remove, { "aria-label": `Remove ${text}` }));
  const active = state.q.trim() ? [chip(`“${state.q.trim()}”`, () => go({ q: "" }))] : [];
  if (state.where.trim())
    active.push(chip(`${whereError(state) ? "not readable: " : ""}${state.where.trim()}`, () => go({ where: "" })));
  for (const [name, values] of Object.entries(state.facets)) {
    for (const value of values)
      active.push(chip(`${fieldTitle(name)}: ${value || "none"}`, () => choose(name, value, false)));
  }
  for (const [name, ends] of Object.entries(state.ranges)) {
    active.push(chip(`${fieldTitle(name)} ${rangeText(ends)}`, () => setRange(name, -Infinity, Infinity)));
  }
  return active;
}

/** @returns {Part} */
function build() {
  const counter = h("p.count", { role: "status" }),
    active = h("ul.chips", { "aria-label": "Active filters" });
  const clear = button("Clear all", () => go(noFilter()));
  const save = button("CSV", exportCsv, { title: "Save the listed clips with scores, reasons and tags" });
  const parts = [searchBox(), expressionBox(), ...facetNames().map(facet), ranges()];
  const panel = h(
    "details.panel",
    h("summary", { text: "Filters" }),
    parts.map((part) => part.root),
  );
  panel.open = wide.matches;
  wide.addEventListener("change", () => {
    panel.open = wide.matches;
  });
  const root = h("section.filters", { "aria-label": "Filters" }, h("div.listed", counter, clear, save), active, panel);
  return {
    root,
    refresh: (state) => {
      const matches = matchCount(state),
        { n } = data;
      counter.textContent = matches < n ? `${matches.toLocaleString("en")} of ${count(n, "clip")}` : count(n, "clip");
      const list = chips(state),
        focused = active.contains(document.activeElement);
      active.replaceChildren(...list);
      clear.hidden = active.hidden = !list.length;
      if (focused) (active.querySelector("button") ?? panel.querySelector("input"))?.focus();
      for (const part of parts) part.refresh(state);
    },
  };
}

/** @type {Part | null} */
let bar = null;

/** @returns {HTMLElement} The filter bar, one for all views, so that open groups stay open; it follows the state. */
export const filterBar = () => {
  if (!bar) {
    const made = (bar = build());
    onState((state) => {
      if (made.root.isConnected) made.refresh(state);
    });
  }
  bar.refresh(state);
  return bar.root;
};
