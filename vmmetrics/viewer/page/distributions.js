// Strips of clips by metric and model: every dot is a clip, dragging along the axis filters.

import { count, h, score, svg, views } from "./core.js";
import { colour, data } from "./data.js";
import { filterBar } from "./filters.js";
import { onKeys } from "./keys.js";
import { filtered, scoreUnit, ticks } from "./numbers.js";
import { Scatter } from "./scatter.js";
import { go, state } from "./state.js";
import { BINS, binOf, firstFrom, jitter, missingText, panels } from "./strips.js";

/** @typedef {import("./strips.js").Panel} Panel */
/** @typedef {import("./strips.js").Strip} Strip */

const STRIP = 48,
  TOP = 20; // px: one model's strip, of which its name takes the top
const MOST_DOTS = 2000; // of a strip; more are thinned over the outline of their density
const CROWD = 300; // dots from which on they are small
const REACH = 10,
  CLICK = 5; // px: from the pointer to a dot, of a click that is no drag
const CHART_KEYS =
  "Arrow keys go from clip to clip and model to model, Enter opens the clip. The fields below set a range.";
const EXPLANATION =
  "Every dot is a clip: click it to open the clip. Drag along an axis to filter by that score; clips that the filter " +
  "leaves out are faint. Line: first to third quartile of all clips; upright: median.";
const EDGE = 10; // px left and right of the axis

/** One metric: strips of its models on a canvas, axis, brush, and two fields for the ends. */
class Chart {
  /** @param {Panel} panel */
  constructor(panel) {
    this.panel = panel;
    this.width = 0;
    /** @type {[number, number] | null} Ends while dragging, in scores. */
    this.drag = null;
    this.near = false; // the screen; others are drawn when they come near it
    /** @type {{ strip: number, place: number } | null} Dot that is hovered or focused. */
    this.active = null;
    /** @type {Uint8Array | null} By row: 1 where the filter shows the clip. */
    this.visible = null;
    const { info, strips } = panel;
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "strip chart",
      "aria-label": `${info.title} of every clip by model. ${CHART_KEYS}`,
    });
    this.names = strips.map((strip, place) => {
      const missing = missingText(strip, info.key);
      const median = strip.quartiles ? `, median ${score(strip.quartiles[1])}` : "";
      return h(
        "div.strip-name.small",
        { "--top": `${place * STRIP}px` },
        h("span", { title: strip.name }, strip.name),
        h("span.muted", `${count(strip.rows.length, "clip")}${median}${missing ? `, ${missing}` : ""}`),
      );
    });
    this.area = h("div.strips", this.canvas, this.names);
    this.axis = svg("svg.axis", { "aria-hidden": "true" });
    this.readout = h("p.readout.small", { "aria-live": "polite" });
    this.from = this.field("from", 0);
    this.to = this.field("to", 1);
    this.clear = h("button.small", { onclick: () => this.setRange(null) }, "Clear");
    const better = info.low_is_fault
      ? info.lower_is_better
        ? "lower is better"
        : "higher is better"
      : "an amount, not a merit";
    this.root = h(
      "section.distribution",
      { "--colour": colour(info.key), "data-metric": info.key },
      h(
        "h3",
        h("span.swatch", { "aria-hidden": "true" }),
        info.label,
        h("span.muted.small.of", ` ${info.title}, ${scoreUnit(info.key)}, ${better}`),
      ),
      this.area,
      this.axis,
      this.readout,
      h("div.ends", h("label.small", "From ", this.from), h("label.small", "to ", this.to), this.clear),
    );
    this.listen();
  }

  /** @param {string} name @param {0 | 1} end @returns {HTMLInputElement} */
  field(name, end) {
    const [low, high] = this.panel.domain,
      step = 10 ** Math.floor(Math.log10((high - low) / 100));
    const change = (/** @type {any} */ event) => {
      const ends = [...(this.range() ?? this.panel.domain)],
        value = event.target.valueAsNumber;
      ends[end] = Number.isNaN(value) ? this.panel.domain[end] : value;
      this.setRange(/** @type {[number, number]} */ ([Math.min(ends[0], ends[1]), Math.max(ends[0], ends[1])]));
    };
    return h("input", { type: "number", step, "aria-label": `${this.panel.info.label} ${name}`, onchange: change });
  }

  /** @returns {[number, number] | null} The filter's range of this metric, without infinite ends. */
  range() {
    const ends = state.ranges[this.panel.info.key];
    return ends ? [Math.max(ends[0], this.panel.domain[0]), Math.min(ends[1], this.panel.domain[1])] : null;
  }

  /** @param {[number, number] | null} ends */
  setRange(ends) {
    const ranges = { ...state.ranges };
    delete ranges[this.panel.info.key];
    if (ends) ranges[this.panel.info.key] = [+ends[0].toPrecision(4), +ends[1].toPrecision(4)];
    go({ ranges });
  }

  /** @param {number} value @returns {number} */
  x(value) {
    const [low, high] = this.panel.domain;
    return EDGE + ((value - low) / (high - low)) * (this.width - 2 * EDGE);
  }

  /** @param {number} x @returns {number} Score, within the axis. */
  scoreAt(x) {
    const [low, high] = this.panel.domain;
    return low + Math.min(1, Math.max(0, (x - EDGE) / (this.width - 2 * EDGE))) * (high - low);
  }

  /** @param {number} strip @param {number} place Of the dot. @returns {number} */
  y(strip, place) {
    const { rows, values, density } = this.panel.strips[strip];
    const spread = density ? density[binOf(values[place], this.panel.domain)] : 1;
    return strip * STRIP + TOP + (STRIP - TOP) / 2 + jitter(rows[place]) * spread * ((STRIP - TOP) / 2 - 4);
  }

  /**
   * @param {number} x
   * @param {number} y
   * @returns {{ strip: number, place: number } | null} Nearest dot within reach.
   */
  nearest(x, y) {
    const strip = Math.floor(y / STRIP),
      dots = this.panel.strips[strip];
    if (!dots) return null;
    let best = null,
      distance = REACH ** 2;
    for (let place = firstFrom(dots.values, this.scoreAt(x - REACH)); place < dots.rows.length; place++) {
      const across = this.x(dots.values[place]) - x;
      if (across > REACH) break;
      const away = across ** 2 + (this.y(strip, place) - y) ** 2;
      if (away < distance) [best, distance] = [{ strip, place }, away];
    }
    return best;
  }

  /** @param {{ strip: number, place: number } | null} dot */
  activate(dot) {
    if (dot?.strip === this.active?.strip && dot?.place === this.active?.place) return;
    this.active = dot;
    this.draw();
    const strip = dot && this.panel.strips[dot.strip];
    this.readout.replaceChildren(
      ...(dot && strip
        ? [`${data.name(strip.rows[dot.place])}: ${data.shown(this.panel.info.key, strip.rows[dot.place])}`]
        : []),
    );
    this.area.style.cursor = dot ? "pointer" : "crosshair";
  }

  openActive() {
    if (!this.active) return;
    const row = this.panel.strips[this.active.strip].rows[this.active.place];
    go({ view: "clip", clip: data.id(row), frame: 0, metric: this.panel.info.key });
  }

  /**
   * @param {PointerEvent} event
   * @returns {{ x: number, y: number }} In the canvas, wherever on the strips it was.
   */
  point(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  listen() {
    const { area, canvas } = this;
    /** @type {{ x: number, moved: boolean } | null} */
    let press = null;
    area.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
      if (event.button) return;
      press = { x: this.point(event).x, moved: false };
      area.setPointerCapture(event.pointerId);
    });
    area.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
      const { x, y } = this.point(event);
      if (press && (press.moved ||= Math.abs(x - press.x) > CLICK)) {
        const ends = [this.scoreAt(press.x), this.scoreAt(x)];
        this.drag = [Math.min(...ends), Math.max(...ends)];
        this.activate(null);
        this.draw();
      } else if (!press) this.activate(this.nearest(x, y));
    });
    area.addEventListener("pointerup", (/** @type {PointerEvent} */ event) => {
      const ends = this.drag,
        moved = press?.moved,
        { x, y } = this.point(event);
      press = this.drag = null;
      if (moved && ends) return this.setRange(ends);
      this.activate(this.nearest(x, y));
      this.openActive();
    });
    area.addEventListener("pointercancel", () => {
      press = this.drag = null;
      this.draw();
    });
    area.addEventListener("pointerleave", () => {
      if (!press) this.activate(null);
    });
    canvas.addEventListener("blur", () => this.activate(null));
    onKeys(canvas, {
      ArrowRight: () => this.step(0, 1),
      ArrowLeft: () => this.step(0, -1),
      ArrowDown: () => this.step(1, 0),
      ArrowUp: () => this.step(-1, 0),
      PageDown: () => this.step(0, 10),
      PageUp: () => this.step(0, -10),
      Enter: () => this.openActive(),
      Escape: () => this.activate(null),
    });
  }

  /** @param {number} models @param {number} clips Moves the active dot by so many. */
  step(models, clips) {
    const { strips } = this.panel;
    const filled = [...strips.keys()].filter((strip) => strips[strip].rows.length);
    let { strip, place } = this.active ?? { strip: filled[0], place: -1 };
    if (models) {
      const value = strips[strip].values[Math.max(place, 0)];
      strip = filled[Math.min(filled.length - 1, Math.max(0, filled.indexOf(strip) + models))];
      place = firstFrom(strips[strip].values, value);
    }
    this.activate({ strip, place: Math.min(strips[strip].rows.length - 1, Math.max(0, place + clips)) });
  }

  /** @param {Uint8Array | null} visible By row; null where the filter shows all. */
  update(visible) {
    this.visible = visible;
    const ends = this.range(),
      text = (/** @type {number} */ value) => String(+value.toPrecision(4));
    this.from.value = text((ends ?? this.panel.domain)[0]);
    this.to.value = text((ends ?? this.panel.domain)[1]);
    this.clear.disabled = !ends;
    this.draw();
  }

  /** @param {number} width */
  resize(width) {
    if (width === this.width || width <= 2 * EDGE) return;
    this.width = width;
    const height = this.panel.strips.length * STRIP,
      ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    const marks = ticks(this.panel.domain, width < 300 ? 3 : 5);
    this.axis.setAttribute("viewBox", `0 0 ${width} 24`);
    this.axis.replaceChildren(
      svg("line", { x1: EDGE, x2: width - EDGE, y1: 0.5, y2: 0.5 }),
      ...marks.flatMap((tick) => [
        svg("line", { x1: this.x(tick), x2: this.x(tick), y1: 0, y2: 5 }),
        svg("text", { x: this.x(tick), y: 18 }, String(tick)),
      ]),
    );
    this.draw();
  }

  draw() {
    const context = this.canvas.getContext("2d");
    if (!context || !this.width || !this.near) return;
    const style = getComputedStyle(this.root),
      ratio = devicePixelRatio || 1;
    const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    const paint = {
      dot: colour(`--m-${this.panel.info.colour}`),
      ink: colour("--ink"),
      rule: colour("--rule"),
      panel: colour("--panel"),
      paper: colour("--paper"),
    };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.panel.strips.length * STRIP);
    const ends = this.drag ?? this.range();
    if (ends) {
      context.fillStyle = paint.panel;
      context.fillRect(
        this.x(ends[0]),
        0,
        Math.max(1, this.x(ends[1]) - this.x(ends[0])),
        this.panel.strips.length * STRIP,
      );
      context.fillStyle = paint.ink;
      for (const end of ends) context.fillRect(this.x(end) - 0.5, 0, 1, this.panel.strips.length * STRIP);
    }
    this.panel.strips.forEach((strip, place) => this.drawStrip(context, strip, place, paint));
    if (this.active) {
      const { strip, place } = this.active;
      context.beginPath();
      context.arc(this.x(this.panel.strips[strip].values[place]), this.y(strip, place), 5, 0, 7);
      context.fillStyle = paint.dot;
      context.fill();
      context.lineWidth = 2;
      context.strokeStyle = paint.ink;
      context.stroke();
    }
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Strip} strip
   * @param {number} place
   * @param {Record<string, string>} paint
   */
  drawStrip(context, strip, place, paint) {
    const middle = place * STRIP + TOP + (STRIP - TOP) / 2,
      { rows, values, density } = strip,
      { visible } = this;
    const every = Math.ceil(rows.length / MOST_DOTS),
      size = rows.length > CROWD ? 3 : 6;
    context.fillStyle = paint.rule;
    if (place) context.fillRect(0, place * STRIP, this.width, 1);
    context.fillStyle = paint.dot;
    if (every > 1 && density) {
      const half = (STRIP - TOP) / 2 - 2,
        width = (this.width - 2 * EDGE) / BINS;
      context.globalAlpha = 0.25;
      density.forEach((share, bin) =>
        context.fillRect(EDGE + bin * width, middle - half * share, width, 2 * half * share),
      );
    }
    for (const shown of [0, 1]) {
      context.globalAlpha = shown ? (size < 4 ? 0.45 : 0.75) : 0.12;
      for (let at = 0; at < rows.length; at += every) {
        if (Number(!visible || visible[rows[at]] === 1) !== shown) continue;
        const x = this.x(values[at]),
          y = this.y(place, at);
        if (size < 4) context.fillRect(x - size / 2, y - size / 2, size, size);
        else {
          context.beginPath();
          context.arc(x, y, size / 2, 0, 7);
          context.fill();
        }
      }
    }
    context.globalAlpha = 1;
    if (!strip.quartiles) return;
    const [low, median, high] = strip.quartiles.map((value) => this.x(value));
    for (const [ring, fill] of /** @type {[number, string][]} */ ([
      [1, paint.paper],
      [0, paint.ink],
    ])) {
      context.fillStyle = fill;
      context.fillRect(low - ring, middle - 0.75 - ring, Math.max(1, high - low) + 2 * ring, 1.5 + 2 * ring);
      context.fillRect(median - 1 - ring, middle - 8 - ring, 2 + 2 * ring, 16 + 2 * ring);
    }
  }
}

views.push({
  key: "distributions",
  title: "Distributions",
  available: () => data.n > 0 && data.index.metrics.length > 0,
  open: (root) => {
    const charts = panels().map((panel) => new Chart(panel));
    const scatter = charts.length > 1 ? new Scatter() : null;
    const bar = filterBar(),
      listed = h("p", { role: "status" });
    const content = h(
      "div",
      h("h2", "Scores of clips"),
      h("p.prose.muted", EXPLANATION),
      listed,
      charts.length
        ? [
            h(
              "div.distributions",
              charts.map((chart) => chart.root),
            ),
            scatter?.root,
          ]
        : h("p.empty", "No clip has a score."),
    );
    root.append(h("div.with-filters", bar, content));
    const sizes = new ResizeObserver(() => {
      for (const chart of charts) chart.resize(Math.floor(chart.area.clientWidth));
      scatter?.resize(Math.floor(scatter.plot.clientWidth));
    });
    for (const chart of charts) sizes.observe(chart.area);
    if (scatter) sizes.observe(scatter.plot);
    const nearby = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const chart = /** @type {Chart} */ (charts.find(({ canvas }) => canvas === target));
          chart.near = isIntersecting;
          chart.draw();
        }
      },
      { rootMargin: "400px" },
    );
    for (const chart of charts) nearby.observe(chart.canvas);
    const update = () => {
      const { rows, active } = filtered();
      const visible = active ? new Uint8Array(data.n) : null;
      if (visible) for (const row of rows) visible[row] = 1;
      listed.textContent = active
        ? `The filter shows ${rows.length.toLocaleString("en")} of ${count(data.n, "clip")}.`
        : count(data.n, "clip");
      for (const chart of charts) chart.update(visible);
      scatter?.update(visible);
    };
    update();
    return {
      update,
      close: () => {
        sizes.disconnect();
        nearby.disconnect();
      },
    };
  },
});
