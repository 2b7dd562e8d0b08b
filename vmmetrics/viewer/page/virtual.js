// A grid of which only the visible rows, and half a screen above and below, are in the page; and the keyboard in it.

import { perFrame } from "./core.js";
import { onKeys } from "./keys.js";

const REST = 100; // ms after a jump until rows out of sight are made

/**
 * @typedef {object} GridOptions
 * @property {HTMLElement} root The element with role="grid".
 * @property {HTMLElement} body Holds the rows; its height is that of all of them.
 * @property {HTMLElement | null} scroller The element that scrolls; null for the window.
 * @property {number} headers Rows above those of clips.
 * @property {(first: number, last: number) => { row: HTMLElement, items: HTMLElement[] }} make Makes the row of
 *   items first..last (exclusive).
 * @property {(row: HTMLElement) => void} drop Called with a row that leaves the page.
 * @property {(position: number) => void} open Enter or a click on an item.
 * @property {(position: number, item: HTMLElement) => void} play Space on an item.
 */

export class VirtualGrid {
  /** @param {GridOptions} options */
  constructor(options) {
    this.options = options;
    this.count = 0;
    this.columns = 1;
    this.height = 1;
    /** Item that takes the focus. */
    this.active = 0;
    /** @type {Map<number, { row: HTMLElement, items: HTMLElement[] }>} */
    this.rows = new Map();
    this.soon = perFrame(() => {
      if (options.root.isConnected) this.render();
    });
    this.later = perFrame(() => {
      if (options.root.isConnected) this.render(true);
    });
    this.timer = 0;
    const { body, scroller } = options;
    (scroller ?? window).addEventListener("scroll", this.soon, { passive: true });
    onKeys(body, this.keys());
    body.addEventListener("focusin", (event) => this.focused(/** @type {Element} */ (event.target)));
    body.addEventListener("click", (event) => this.clicked(event));
  }

  /** @param {number} count Items. @param {number} columns @param {number} height Of a row, in pixels. */
  layout(count, columns, height) {
    const { root, body, headers } = this.options;
    Object.assign(this, { count, columns, height, active: Math.max(0, Math.min(this.active, count - 1)) });
    for (const { row } of this.rows.values()) this.options.drop(row);
    this.rows.clear();
    body.replaceChildren();
    const rows = Math.ceil(count / columns);
    body.style.height = `${rows * height}px`;
    root.setAttribute("aria-rowcount", String(rows + headers));
    this.render();
  }

  /** @returns {{ top: number, bottom: number }} The visible part, in pixels from the top of the body. */
  visible() {
    const { body, scroller } = this.options;
    const { top } = body.getBoundingClientRect();
    const view = scroller?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
    const header = scroller ? body.offsetTop : 0;
    return { top: view.top + header - top, bottom: view.bottom - top };
  }

  /**
   * Put the rows into the page that are to be there, and take out the others: those in sight at once, half a screen
   * more in the next animation frame, or after a jump when it is over.
   * @param {boolean} [ahead] Also half a screen above and below.
   */
  render(ahead = false) {
    const { body, headers, make, drop } = this.options;
    const { top, bottom } = this.visible(),
      screen = bottom - top;
    /** @param {number} margin @returns {Set<number>} */
    const within = (margin) => {
      const first = Math.max(0, Math.floor((top - margin) / this.height));
      const end = Math.min(Math.ceil(this.count / this.columns), Math.ceil((bottom + margin) / this.height));
      return new Set(Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index));
    };
    const near = within(screen / 2),
      wanted = ahead ? near : within(0);
    const jumped = ![...wanted].some((index) => this.rows.has(index));
    if (this.count) wanted.add(Math.floor(this.active / this.columns)); // holds the focus, or takes it
    for (const index of near) if (this.rows.has(index)) wanted.add(index);
    if (!ahead) {
      clearTimeout(this.timer);
      if (jumped) this.timer = setTimeout(this.later, REST);
      else this.later();
    }
    for (const [index, { row }] of this.rows) {
      if (wanted.has(index)) continue;
      drop(row);
      row.remove();
      this.rows.delete(index);
    }
    let next = body.firstChild;
    for (const index of [...wanted].sort((a, b) => a - b)) {
      let entry = this.rows.get(index);
      if (!entry) {
        entry = make(index * this.columns, Math.min(this.count, (index + 1) * this.columns));
        entry.row.style.top = `${index * this.height}px`;
        entry.row.setAttribute("aria-rowindex", String(index + 1 + headers));
        entry.items.forEach((item, column) => {
          item.dataset.position = String(index * this.columns + column);
          item.tabIndex = index * this.columns + column === this.active ? 0 : -1;
        });
        this.rows.set(index, entry);
      }
      if (entry.row === next) next = next.nextSibling;
      else body.insertBefore(entry.row, next);
    }
  }

  /** @param {number} position @returns {HTMLElement | undefined} The item, where it is in the page. */
  item(position) {
    return this.rows.get(Math.floor(position / this.columns))?.items[position % this.columns];
  }

  /** @param {number} position Becomes the item that takes the focus. */
  activate(position) {
    const before = this.item(this.active);
    if (before) before.tabIndex = -1;
    this.active = Math.max(0, Math.min(position, this.count - 1));
    this.render();
    const item = this.item(this.active);
    if (item) item.tabIndex = 0;
  }

  /** @param {number} position Scrolled to where it is not in sight. */
  reveal(position) {
    const { top, bottom } = this.visible(),
      start = Math.floor(position / this.columns) * this.height;
    const by = start < top ? start - top - 4 : start + this.height > bottom ? start + this.height - bottom + 4 : 0;
    if (by) (this.options.scroller ?? window).scrollBy(0, by);
  }

  /** @param {number} position Gets the focus, and is scrolled to. */
  focus(position) {
    if (!this.count) return;
    this.activate(position);
    this.reveal(this.active);
    this.render();
    this.item(this.active)?.focus({ preventScroll: true });
  }

  /** @param {Element} target @returns {HTMLElement | null} */
  itemOf(target) {
    return target.closest("[data-position]");
  }

  /** @param {Element} target */
  focused(target) {
    const position = Number(this.itemOf(target)?.dataset.position ?? -1);
    if (position >= 0 && position !== this.active) this.activate(position);
  }

  /** @param {MouseEvent} event */
  clicked(event) {
    const target = /** @type {Element} */ (event.target),
      item = this.itemOf(target);
    if (!item || target.closest("button") || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.activate(Number(item.dataset.position));
    this.options.open(this.active);
  }

  /** @returns {Record<string, (event: KeyboardEvent) => unknown>} */
  keys() {
    const by = (/** @type {() => number} */ items) => () => this.focus(this.active + items());
    const screen = () => {
      const { top, bottom } = this.visible();
      return Math.max(1, Math.floor((bottom - top) / this.height)) * this.columns;
    };
    const row = (/** @type {number} */ rows) => () => {
      const to = Math.floor(this.active / this.columns) + rows;
      if (to >= 0 && to * this.columns < this.count) this.focus(this.active + rows * this.columns);
    };
    const [back, on] = [by(() => -1), by(() => 1)];
    /** Of the item itself, not of a link or button in it. @param {(item: HTMLElement) => void} act */
    const own =
      (act) =>
      (/** @type {KeyboardEvent} */ { target }) => {
        const item = this.itemOf(/** @type {Element} */ (target));
        return item !== null && item === target && act(item);
      };
    return {
      ...{ ArrowLeft: back, k: back, ArrowRight: on, j: on, ArrowUp: row(-1), ArrowDown: row(1) },
      ...{ PageUp: by(() => -screen()), PageDown: by(screen), Home: by(() => -this.count), End: by(() => this.count) },
      Enter: own(() => this.options.open(this.active)),
      " ": own((item) => this.options.play(this.active, item)),
    };
  }

  close() {
    clearTimeout(this.timer);
    for (const { row } of this.rows.values()) this.options.drop(row);
    (this.options.scroller ?? window).removeEventListener("scroll", this.soon);
  }
}
