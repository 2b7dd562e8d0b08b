// Two scores of every clip against each other; a rectangle drawn on it filters by both.

import { count, h, select, svg } from "./core.js";
import { data } from "./data.js";
import { domain, optionOf, scoreUnit, ticks } from "./numbers.js";
import { go, state } from "./state.js";

const EDGE = { left: 48, right: 12, top: 12, bottom: 40 }; // px around the plot
const HIGHEST = 400,
  REACH = 10,
  CLICK = 5; // px: height, from the pointer to a dot, of a click that is no drag
const MOST_DOTS = 4000,
  MANY = 500; // dots drawn at most; from which on they are small

/** @typedef {{ x: number, y: number }} Point */

export class Scatter {
  constructor() {
    this.width = 0;
    this.height = 0;
    /** @type {number[]} Rows with both scores. */
    this.rows = [];
    /** @type {Uint8Array | null} By row: 1 where the filter shows the clip. */
    this.visible = null;
    this.active = -1;
    this.key = "";
    /** @type {Float64Array[]} Scores of the horizontal and the vertical metric. */
    this.values = [];
    /** @type {[number, number][]} */
    this.domains = [];
    /** @type {[Point, Point] | null} Corners while dragging, in px. */
    this.drag = null;
    this.canvas = h("canvas", { role: "img" });
    this.axes = svg("svg", { "aria-hidden": "true" });
    this.readout = h("p.readout.small");
    this.choices = h("div.controls");
    this.plot = h("div.scatter-plot", this.axes, this.canvas);
    this.root = h("section.distribution.scatter", h("h3", "Two scores"), this.choices, this.plot, this.readout);
    this.listen();
  }

  /** @returns {MetricInfo[]} Horizontal and vertical score. */
  axesOf() {
    const { metrics } = data.index,
      { metric, other } = state;
    const x = data.metric(metric) ?? metrics[0];
    return [x, data.metric(other) ?? metrics.find((info) => info.key !== x.key) ?? x];
  }

  /** @param {number} place 0 horizontal, 1 vertical. @param {string} label @param {string} chosen */
  choice(place, label, chosen) {
    const choose = (/** @type {string} */ key) => go({ [place ? "other" : "metric"]: key }, { replace: true });
    const options = data.index.metrics.map(({ key }) => optionOf(key));
    return h("label.choice", `${label} `, select(options, chosen, choose));
  }

  /** @param {Uint8Array | null} visible By row; null where the filter shows all. */
  update(visible) {
    this.visible = visible;
    const infos = this.axesOf(),
      key = infos.map((info) => info.key).join("\n");
    if (key !== this.key) {
      this.key = key;
      const focused = [...this.choices.querySelectorAll("select")].indexOf(document.activeElement);
      this.choices.replaceChildren(this.choice(0, "Across", infos[0].key), this.choice(1, "Up", infos[1].key));
      this.choices.querySelectorAll("select")[focused]?.focus();
      this.values = infos.map((info) => data.scores(info.key));
      const [across, up] = this.values;
      this.rows = Array.from({ length: data.n }, (_, row) => row).filter((row) => !Number.isNaN(across[row] + up[row]));
      this.domains = infos.map((info, place) => info.range ?? domain(this.rows.map((row) => this.values[place][row])));
      this.canvas.setAttribute(
        "aria-label",
        `${infos[1].title} against ${infos[0].title} of ${count(this.rows.length, "clip")} with both scores`,
      );
      this.frame();
    }
    this.activate(-1);
    this.draw();
  }

  /** @param {number} row @returns {Point} In px. */
  at(row) {
    return { x: this.px(0, this.values[0][row]), y: this.px(1, this.values[1][row]) };
  }

  /** @param {number} place @param {number} value @returns {number} */
  px(place, value) {
    const [low, high] = this.domains[place],
      share = (value - low) / (high - low);
    return place
      ? this.height - EDGE.bottom - share * (this.height - EDGE.top - EDGE.bottom)
      : EDGE.left + share * (this.width - EDGE.left - EDGE.right);
  }

  /** @param {number} place @param {number} px @returns {number} Score, within the axis. */
  score(place, px) {
    const [low, high] = this.domains[place];
    const share = place
      ? (this.height - EDGE.bottom - px) / (this.height - EDGE.top - EDGE.bottom)
      : (px - EDGE.left) / (this.width - EDGE.left - EDGE.right);
    return low + Math.min(1, Math.max(0, share)) * (high - low);
  }

  /** @param {number} width */
  resize(width) {
    if (width === this.width || width <= EDGE.left + EDGE.right) return;
    this.width = width;
    this.height = Math.min(HIGHEST, Math.round(0.75 * width));
    const ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(this.height * ratio) });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${this.height}px` });
    this.frame();
    this.draw();
  }

  /** Draw axes, ticks and titles. */
  frame() {
    if (!this.width || !this.domains.length) return;
    const { width, height } = this,
      [across, up] = this.axesOf(),
      floor = height - EDGE.bottom,
      middle = (floor + EDGE.top) / 2;
    this.axes.setAttribute("viewBox", `0 0 ${width} ${height}`);
    Object.assign(this.axes.style, { width: `${width}px`, height: `${height}px` });
    this.axes.replaceChildren(
      svg("path", { d: `M${EDGE.left},${EDGE.top}V${floor}H${width - EDGE.right}` }),
      ...ticks(this.domains[0]).map((tick) => svg("text.below", { x: this.px(0, tick), y: floor + 16 }, String(tick))),
      ...ticks(this.domains[1]).map((tick) =>
        svg("text.beside", { x: EDGE.left - 6, y: this.px(1, tick) + 4 }, String(tick)),
      ),
      svg(
        "text.below.axis-title",
        { x: (EDGE.left + width - EDGE.right) / 2, y: height - 4 },
        `${across.label}, ${scoreUnit(across.key)}`,
      ),
      svg(
        "text.below.axis-title",
        { x: -middle, y: 12, transform: "rotate(-90)" },
        `${up.label}, ${scoreUnit(up.key)}`,
      ),
    );
  }

  /** @param {Point} point @returns {number} Row of the nearest dot within reach, or -1. */
  nearest(point) {
    let best = -1,
      distance = REACH ** 2;
    for (const row of this.rows) {
      const { x, y } = this.at(row),
        away = (x - point.x) ** 2 + (y - point.y) ** 2;
      if (away < distance) [best, distance] = [row, away];
    }
    return best;
  }

  /** @param {number} row */
  activate(row) {
    if (row === this.active) return;
    this.active = row;
    this.canvas.style.cursor = row < 0 ? "crosshair" : "pointer";
    const texts = row < 0 ? [] : this.axesOf().map(({ key, label }) => `${label} ${data.shown(key, row)}`);
    this.readout.textContent = row < 0 ? "" : `${data.model(row)}, ${data.name(row)}: ${texts.join(", ")}`;
    this.draw();
  }

  listen() {
    const { canvas } = this;
    /** @type {Point | null} */
    let press = null;
    const point = (/** @type {PointerEvent} */ event) => ({ x: event.offsetX, y: event.offsetY });
    canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
      if (event.button) return;
      press = point(event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
      const here = point(event);
      if (!press) return this.activate(this.nearest(here));
      if (!this.drag && Math.hypot(here.x - press.x, here.y - press.y) <= CLICK) return;
      this.drag = [press, here];
      this.draw();
    });
    canvas.addEventListener("pointerup", (/** @type {PointerEvent} */ event) => {
      if (!press) return;
      const start = press,
        moved = Math.hypot(event.offsetX - start.x, event.offsetY - start.y) > CLICK;
      press = this.drag = null;
      if (moved) return this.select(start, point(event));
      const row = this.nearest(point(event));
      if (row >= 0) go({ view: "clip", clip: data.id(row), frame: 0 });
    });
    canvas.addEventListener("pointercancel", () => {
      press = this.drag = null;
      this.draw();
    });
    canvas.addEventListener("pointerleave", () => {
      if (!press) this.activate(-1);
    });
  }

  /** Filter by the rectangle between two corners. @param {Point} one @param {Point} other */
  select(one, other) {
    const ranges = { ...state.ranges };
    this.axesOf().forEach((info, place) => {
      const ends = [one, other].map((corner) => +this.score(place, place ? corner.y : corner.x).toPrecision(4));
      ranges[info.key] = [Math.min(...ends), Math.max(...ends)];
    });
    go({ ranges });
  }

  /** @returns {[Point, Point] | null} Corners of the filter's rectangle, in px. */
  selection() {
    if (this.drag) return this.drag;
    const infos = this.axesOf();
    if (!infos.some((info) => state.ranges[info.key])) return null;
    const ends = infos.map((info, place) => {
      const [low, high] = state.ranges[info.key] ?? this.domains[place];
      return [Math.max(low, this.domains[place][0]), Math.min(high, this.domains[place][1])].map((value) =>
        this.px(place, value),
      );
    });
    return [
      { x: ends[0][0], y: ends[1][0] },
      { x: ends[0][1], y: ends[1][1] },
    ];
  }

  draw() {
    const context = this.canvas.getContext("2d");
    if (!context || !this.width || !this.values.length) return;
    const style = getComputedStyle(this.root),
      ratio = devicePixelRatio || 1;
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const box = this.selection();
    if (box) {
      const [one, other] = box,
        sides = [
          Math.min(one.x, other.x),
          Math.min(one.y, other.y),
          Math.abs(other.x - one.x),
          Math.abs(other.y - one.y),
        ];
      context.fillStyle = colour("--panel");
      context.strokeStyle = colour("--ink");
      context.fillRect(sides[0], sides[1], sides[2], sides[3]);
      context.strokeRect(sides[0], sides[1], sides[2], sides[3]);
    }
    const every = Math.ceil(this.rows.length / MOST_DOTS),
      radius = this.rows.length > MANY ? 1.5 : 3;
    context.fillStyle = colour("--link");
    for (const shown of [0, 1]) {
      context.globalAlpha = shown ? 0.6 : 0.15;
      for (let at = 0; at < this.rows.length; at += every) {
        const row = this.rows[at];
        if (Number(!this.visible || this.visible[row] === 1) !== shown) continue;
        const { x, y } = this.at(row);
        context.beginPath();
        context.arc(x, y, radius, 0, 7);
        context.fill();
      }
    }
    context.globalAlpha = 1;
    if (this.active < 0) return;
    const { x, y } = this.at(this.active);
    context.beginPath();
    context.arc(x, y, 5, 0, 7);
    context.lineWidth = 2;
    context.strokeStyle = colour("--ink");
    context.stroke();
  }
}
