// The clips that pass the filter, as tiles or as a table.
"use strict";

(() => {
  const LEAST_TILE = 168, GAP = 12; // pixels
  const LINE = 2; // rem, of the table
  const rem = () => parseFloat(getComputedStyle(document.documentElement).fontSize);

  /** Where the reader was when the view closed. @type {{ rows: Int32Array, row: number, scroll: number } | null} */
  let left = null;

  /** @returns {number} Height of the text under a poster, in rem, as gallery.css has it. */
  const textHeight = () => 2.875 + (vm.data.index.prompts.length ? 2.25 : 0) + vm.tileMetrics().length * 1.125;

  /** @param {State} state @returns {HTMLElement} Sort order and form of the list. */
  function toolbar(state) {
    const options = [
      ["", "order of the runs"], ...vm.data.index.metrics.map(({ key, label, title }) => [key, title && title !== label ? `${label}, ${title}` : label]),
      ["name", "name"], ["model", "model"], ["prompt", "prompt"], ["frames", "frames"],
    ];
    if (!options.some(([sort]) => sort === state.sort)) options.push([state.sort, vm.fieldTitle(state.sort)]);
    const select = vm.h("select", { onchange: () => vm.go({ sort: select.value }) },
      options.map(([value, text]) => vm.h("option", { value, text, selected: value === state.sort })));
    const orders = vm.column(state.sort)?.kind === "number" ? ["lowest first", "highest first"]
      : state.sort ? ["A to Z", "Z to A"] : ["first to last", "last to first"];
    const order = orders[Number(state.desc)];
    /** @param {string} table @param {string} text */
    const form = (table, text) => vm.h("button", { type: "button", "aria-pressed": String(state.table === table), text, onclick: () => vm.go({ table }) });
    return vm.h("div.toolbar", {},
      vm.h("label", {}, "Sort by ", select),
      vm.h("button", { type: "button", text: `${state.desc ? "↓" : "↑"} ${order}`, title: `Turn round: ${orders[Number(!state.desc)]}`, onclick: () => vm.go({ desc: !vm.state.desc }) }),
      vm.h("span.forms", { role: "group", "aria-label": "Form of the list" }, form("", "Tiles"), form("1", "Table")));
  }

  /** @param {State} state @returns {HTMLElement} */
  const nothing = (state) => vm.h("div.empty", {}, vm.h("p", { text: vm.data.n ? `No clip passes: ${vm.filterText(state)}` : "The runs of this report have no clips." }),
    vm.data.n > 0 && vm.h("button", { type: "button", text: "Clear the filter", onclick: () => vm.go(vm.noFilter()) }));

  class Gallery {
    /** @param {HTMLElement} root */
    constructor(root) {
      this.state = vm.state;
      this.rows = /** @type {Int32Array} */ (vm.rows());
      this.tools = vm.h("div");
      this.content = vm.h("div");
      /** @type {any} */
      this.grid = null;
      root.append(vm.h("h2.unseen", { text: "Clips" }), vm.h("div.with-filters", {}, vm.filterBar(), vm.h("div.gallery", {}, this.tools, this.content)));
      this.resize = new ResizeObserver(vm.perFrame(() => { if (this.content.isConnected && this.content.clientWidth !== this.width) this.layout(); }));
      this.build();
      this.resize.observe(this.content);
      this.comeBack();
    }

    /** Make the tools and the list anew. */
    build() {
      this.grid?.close();
      const { state } = this, table = state.table ? vm.clipTable(state) : null;
      const focus = this.tools.contains(document.activeElement)
        ? [...this.tools.querySelectorAll("button, select")].indexOf(document.activeElement) : -1;
      this.tools.replaceChildren(toolbar(state));
      if (focus >= 0) /** @type {HTMLElement} */ (this.tools.querySelectorAll("button, select")[focus])?.focus();
      const body = vm.h("div.body", { role: "rowgroup" });
      const root = vm.h(table ? "div.lines" : "div.tiles", { role: "grid", "aria-label": "Clips" }, table && vm.h("div.head", { role: "rowgroup" }, table.header), body);
      if (table) {
        root.setAttribute("aria-colcount", String(table.columns));
        root.style.setProperty("--columns", table.template);
        root.style.setProperty("--least", `${table.least}rem`);
      }
      this.content.replaceChildren(this.rows.length ? root : nothing(state));
      this.grid = new vm.VirtualGrid({
        root, body, scroller: table ? root : null, headers: table ? 1 : 0,
        make: (/** @type {number} */ first, /** @type {number} */ end) => (table ? this.line(table, first) : this.tiles(first, end)),
        drop: vm.stopTiles,
        open: (/** @type {number} */ position) => vm.go({ view: "clip", clip: vm.data.id(this.rows[position]), frame: 0 }),
        play: (/** @type {number} */ position, /** @type {HTMLElement} */ item) => { if (!table) vm.toggleTile(item, this.rows[position]); },
      });
      this.root = root;
      this.layout();
    }

    /** Fit columns and heights to the width. */
    layout() {
      const width = (this.width = this.content.clientWidth), count = this.rows.length;
      if (this.state.table) return this.grid.layout(count, 1, LINE * rem());
      const columns = Math.max(1, Math.floor((width + GAP) / (LEAST_TILE + GAP)));
      const tile = (width - GAP * (columns - 1)) / columns;
      this.root?.style.setProperty("--tiles", String(columns));
      this.root?.setAttribute("aria-colcount", String(columns));
      this.grid.layout(count, columns, Math.ceil(tile * 10 / 16 + textHeight() * rem()) + GAP);
    }

    /** @param {any} table @param {number} position @returns {{ row: HTMLElement, items: HTMLElement[] }} */
    line(table, position) {
      const row = table.line(this.rows[position]);
      return { row, items: [row] };
    }

    /** @param {number} first @param {number} end @returns {{ row: HTMLElement, items: HTMLElement[] }} */
    tiles(first, end) {
      const items = Array.from(this.rows.subarray(first, end), (row, column) => vm.tile(row, this.state, column));
      return { row: vm.h("div.row", { role: "row" }, items), items };
    }

    /** Show the clip that the reader comes back from, at the height where it was. */
    comeBack() {
      if (!left) return;
      const position = this.rows.indexOf(vm.data.find(vm.state.clip)), same = left.rows === this.rows;
      if (same) (this.grid.options.scroller ?? window).scrollTo(0, left.scroll);
      const fallback = same ? this.rows.indexOf(left.row) : -1;
      if (position >= 0) this.grid.focus(position);
      else if (fallback >= 0) this.grid.activate(fallback);
    }

    /** @param {State} state */
    update(state) {
      const before = this.state, rows = vm.rows(state), active = this.rows[this.grid.active];
      this.state = state;
      if (rows === this.rows && before.table === state.table && before.sort === state.sort && before.desc === state.desc) return;
      const changed = rows !== this.rows, held = this.content.contains(document.activeElement);
      this.rows = rows;
      this.build();
      this.grid.activate(Math.max(0, rows.indexOf(active)));
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

  vm.views.push({ key: "gallery", title: "Clips", available: () => true, open: (root) => new Gallery(root) });
})();
