// The clips that pass the filter, as tiles or as a table.

import { button, h, perFrame, select, views } from "./core.js";
import { data } from "./data.js";
import { columnOf, fieldTitle, filterText, noFilter, rows } from "./filter.js";
import { filterBar } from "./filters.js";
import { optionOf } from "./numbers.js";
import { go, state as current } from "./state.js";
import { clipTable } from "./table.js";
import { stopTiles, tile, tileMetrics, toggleTile } from "./tile.js";
import { VirtualGrid } from "./virtual.js";

const LEAST_TILE = 168,
  GAP = 12; // pixels
const LINE = 2; // rem, of the table
const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

/**
 * Where the reader was when the view closed.
 * @type {{ rows: Int32Array, row: number, scroll: number } | null}
 */
let left = null;

/** @returns {number} Height of the text under a poster, in rem, as gallery.css has it. */
const textHeight = () => 2.875 + (data.index.prompts.length ? 2.25 : 0) + tileMetrics().length * 1.125;

/** @param {State} state @returns {HTMLElement} Sort order and form of the list. */
function toolbar(state) {
  /** @type {[string, string][]} */
  const options = [
    ["", "order of the runs"],
    ...data.index.metrics.map(({ key }) => optionOf(key)),
    ...["name", "model", "prompt", "frames"].map((name) => /** @type {[string, string]} */ ([name, name])),
  ];
  if (!options.some(([sort]) => sort === state.sort)) options.push([state.sort, fieldTitle(state.sort)]);
  const sort = select(options, state.sort, (chosen) => go({ sort: chosen }));
  const orders =
    columnOf(state.sort)?.kind === "number"
      ? ["lowest first", "highest first"]
      : state.sort
        ? ["A to Z", "Z to A"]
        : ["first to last", "last to first"];
  const order = orders[Number(state.desc)];
  /** @param {string} table @param {string} text */
  const form = (table, text) => button(text, () => go({ table }), { "aria-pressed": String(state.table === table) });
  return h(
    "div.toolbar",
    h("label", "Sort by ", sort),
    button(`${state.desc ? "↓" : "↑"} ${order}`, () => go({ desc: !current.desc }), {
      title: `Turn round: ${orders[Number(!state.desc)]}`,
    }),
    h("span.forms", { role: "group", "aria-label": "Form of the list" }, form("", "Tiles"), form("1", "Table")),
  );
}

/** @param {State} state @returns {HTMLElement} */
const nothing = (state) =>
  h(
    "div.empty",
    h("p", { text: data.n ? `No clip passes: ${filterText(state)}` : "The runs of this report have no clips." }),
    data.n > 0 && button("Clear the filter", () => go(noFilter())),
  );

class Gallery {
  /** @param {HTMLElement} root */
  constructor(root) {
    this.state = { ...current };
    this.rows = /** @type {Int32Array} */ (rows());
    this.tools = h("div");
    this.content = h("div");
    /** @type {any} */
    this.grid = null;
    root.append(
      h("h2.unseen", { text: "Clips" }),
      h("div.with-filters", filterBar(), h("div.gallery", this.tools, this.content)),
    );
    this.resize = new ResizeObserver(
      perFrame(() => {
        if (this.content.isConnected && this.content.clientWidth !== this.width) this.layout();
      }),
    );
    this.build();
    this.resize.observe(this.content);
    this.comeBack();
  }

  /** Make the tools and the list anew. */
  build() {
    this.grid?.close();
    const { state } = this,
      table = state.table ? clipTable(state) : null;
    const focus = this.tools.contains(document.activeElement)
      ? [...this.tools.querySelectorAll("button, select")].indexOf(document.activeElement)
      : -1;
    this.tools.replaceChildren(toolbar(state));
    if (focus >= 0) /** @type {HTMLElement} */ (this.tools.querySelectorAll("button, select")[focus])?.focus();
    const body = h("div.body", { role: "rowgroup" });
    const root = h(
      table ? "div.lines" : "div.tiles",
      { role: "grid", "aria-label": "Clips" },
      table && h("div.head", { role: "rowgroup" }, table.header),
      body,
    );
    if (table) {
      root.setAttribute("aria-colcount", String(table.columns));
      root.style.setProperty("--columns", table.template);
      root.style.setProperty("--least", `${table.least}rem`);
    }
    this.content.replaceChildren(this.rows.length ? root : nothing(state));
    this.grid = new VirtualGrid({
      root,
      body,
      scroller: table ? root : null,
      headers: table ? 1 : 0,
      make: (first, end) => (table ? this.line(table, first) : this.tiles(first, end)),
      drop: stopTiles,
      open: (position) => go({ view: "clip", clip: data.id(this.rows[position]), frame: 0 }),
      play: (position, item) => {
        if (!table) toggleTile(item, this.rows[position]);
      },
    });
    this.root = root;
    this.layout();
  }

  /** Fit columns and heights to the width. */
  layout() {
    const width = (this.width = this.content.clientWidth),
      count = this.rows.length;
    if (this.state.table) return this.grid.layout(count, 1, LINE * rem());
    const columns = Math.max(1, Math.floor((width + GAP) / (LEAST_TILE + GAP)));
    const tile = (width - GAP * (columns - 1)) / columns;
    this.root?.style.setProperty("--tiles", String(columns));
    this.root?.setAttribute("aria-colcount", String(columns));
    this.grid.layout(count, columns, Math.ceil((tile * 10) / 16 + textHeight() * rem()) + GAP);
  }

  /** @param {any} table @param {number} position @returns {{ row: HTMLElement, items: HTMLElement[] }} */
  line(table, position) {
    const row = table.line(this.rows[position]);
    return { row, items: [row] };
  }

  /** @param {number} first @param {number} end @returns {{ row: HTMLElement, items: HTMLElement[] }} */
  tiles(first, end) {
    const items = Array.from(this.rows.subarray(first, end), (row, column) => tile(row, this.state, column));
    return { row: h("div.row", { role: "row" }, items), items };
  }

  /** Show the clip that the reader comes back from, at the height where it was. */
  comeBack() {
    if (!left) return;
    const position = this.rows.indexOf(data.find(current.clip)),
      same = left.rows === this.rows;
    if (same) (this.grid.options.scroller ?? window).scrollTo(0, left.scroll);
    const fallback = same ? this.rows.indexOf(left.row) : -1;
    if (position >= 0) this.grid.focus(position);
    else if (fallback >= 0) this.grid.activate(fallback);
  }

  /** @param {State} state */
  update(state) {
    const before = this.state,
      listed = rows(state),
      active = this.rows[this.grid.active];
    this.state = state;
    if (
      listed === this.rows &&
      before.table === state.table &&
      before.sort === state.sort &&
      before.desc === state.desc
    )
      return;
    const changed = listed !== this.rows,
      held = this.content.contains(document.activeElement);
    this.rows = listed;
    this.build();
    this.grid.activate(Math.max(0, listed.indexOf(active)));
    if (changed) {
      const { top } = this.content.getBoundingClientRect();
      if (top < 0) scrollBy(0, top - this.tools.offsetHeight);
    }
    if (held) this.grid.item(this.grid.active)?.focus({ preventScroll: true });
  }

  close() {
    const { scroller } = this.grid.options;
    left = { rows: this.rows, row: this.rows[this.grid.active], scroll: scroller ? scroller.scrollTop : scrollY };
    this.resize.disconnect();
    this.grid.close();
  }
}

views.push({ key: "gallery", title: "Clips", available: () => true, open: (root) => new Gallery(root) });
