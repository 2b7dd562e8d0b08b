// Tables of numbers: heads, among them some that sort, and what stays as it was when a table is made again.

import { h } from "./core.js";
import { go, state } from "./state.js";

/**
 * Make a table of numbers that scrolls sideways by itself, with the keyboard too.
 * @param {string} name
 * @param {string} classes ".models"
 * @param {any[]} heads Cells.
 * @param {any[][]} rows Cells of each.
 */
export const table = (name, classes, heads, rows) =>
  wide(
    name,
    h(
      `table.numbers${classes}`,
      h("thead", h("tr", heads)),
      h(
        "tbody",
        rows.map((cells) => h("tr", cells)),
      ),
    ),
  );

/** @param {string} name @param {any} content @returns {any} What scrolls sideways by itself. */
export const wide = (name, content) =>
  h("div.wide", { tabindex: 0, role: "region", "aria-label": name, "data-key": `wide ${name}` }, content);

/** @param {any} text @param {string} [classes] @returns {any} Head of a column. */
export const head = (text, classes = "") => h(`th${classes}`, { scope: "col" }, text);

/** @param {...any} parts @returns {any} Head of a row, which stays in sight. */
export const rowHead = (...parts) => h("th.first", { scope: "row" }, parts);

/** @param {string} colour @returns {any} */
export const swatch = (colour) => h("span.swatch", { "--colour": colour, "aria-hidden": "true" });

/**
 * Order by a value, missing values last both ways, equal ones as they were.
 * @template T
 * @param {T[]} items
 * @param {(item: T) => number | string | null | undefined} value
 * @param {boolean} desc
 * @returns {T[]}
 */
export const ordered = (items, value, desc) => {
  const keyed = items.map((item) => ({ item, key: value(item) }));
  const absent = (/** @type {any} */ key) => key === null || key === undefined || Number.isNaN(key);
  return keyed
    .sort((one, other) => {
      if (absent(one.key) || absent(other.key)) return Number(absent(one.key)) - Number(absent(other.key));
      const order =
        typeof one.key === "string"
          ? one.key.localeCompare(String(other.key), "en", { numeric: true })
          : Number(one.key) - Number(other.key);
      return desc ? -order : order;
    })
    .map(({ item }) => item);
};

/**
 * Make a header cell that sorts; the first click puts the best first, the next turns the order round.
 * @param {string} key Column in `state.sort`; "" for the given order.
 * @param {{ text: any, more?: any, title?: string, best?: "high" | "low", classes?: string }} part
 */
export const sortHeader = (key, part) => {
  const { sort, desc } = state,
    active = sort === key,
    first = part.best === "high";
  const arrow = h("span.arrow", { "aria-hidden": "true", text: !active ? "" : desc ? "▼" : "▲" });
  const click = () => go({ sort: key, desc: active ? !desc : first }, { replace: true });
  const button = h("button.sort", { onclick: click, title: part.title, "data-key": `sort ${key}` }, part.text, arrow);
  return h(
    `th${part.classes ?? ""}`,
    { scope: "col", "aria-sort": active ? (desc ? "descending" : "ascending") : "none" },
    button,
    part.more,
  );
};

/**
 * Put other children into an element; focus, opened details and scrolled tables stay as they are, by `data-key`.
 * @param {HTMLElement} root
 * @param {...any} children
 */
const refill = (root, ...children) => {
  const keyed = (/** @type {string} */ selector) => /** @type {any[]} */ ([...root.querySelectorAll(selector)]);
  const focus = root.contains(document.activeElement) ? /** @type {any} */ (document.activeElement)?.dataset.key : null;
  const open = new Set(keyed("details[open][data-key]").map((node) => node.dataset.key));
  const scrolled = new Map(keyed(".wide[data-key]").map((node) => [node.dataset.key, node.scrollLeft]));
  root.replaceChildren(h("div.tables-of-numbers", children));
  for (const node of keyed("[data-key]")) {
    if (open.has(node.dataset.key)) node.open = true;
    if (scrolled.has(node.dataset.key)) node.scrollLeft = scrolled.get(node.dataset.key);
    if (focus === node.dataset.key) node.focus({ preventScroll: true });
  }
};

/** @param {() => any} contents @returns {View["open"]} Opens a view that is filled again whenever the state changes. */
export const refilled = (contents) => (root) => {
  const update = () => refill(root, contents());
  update();
  return { update, close: () => {} };
};
