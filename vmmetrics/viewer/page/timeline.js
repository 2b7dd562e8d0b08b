// Events in lanes by metric and series as plots, over one axis of frames with one cursor that is the player's frame.
/// <reference path="_vendor/uPlot.d.ts" />

import { h, score } from "./core.js";
import { colour, data } from "./data.js";
import { eventAt, eventCost, eventText } from "./events.js";
import { onKeys, sliderKeys } from "./keys.js";

const GUTTER = 64,
  END = 16; // px left and right of the axis, as in timeline.css
const ROW = 22,
  LEAST_BAR = 6; // px
const LEAST_TEXT = 64; // px of a bar that a shortened text is written in
const MOST_ROWS = 8; // with texts beside the bars; more are drawn without
const PLOT_HEIGHT = 76;
const LEAST_DIFFERENCE = 0.05; // half the axis of a difference, at least: rounding is not magnified

/** @param {string} property @returns {string} */
const css = (property) => getComputedStyle(document.documentElement).getPropertyValue(property).trim();

const measure = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));

/**
 * @param {number} frames
 * @param {number} most
 * @returns {number} 1, 2 or 5 times a power of ten: at most so many steps.
 */
function stepOf(frames, most) {
  for (let power = 1; ; power *= 10)
    for (const digit of [1, 2, 5]) if (digit * power * most >= frames) return digit * power;
}

/**
 * Ends of the axis of a series: 0 and 1 for what lies between, else from 0 or the least value to the largest.
 * @param {(number | null)[]} values
 * @returns {[number, number]}
 */
function ends(values) {
  const numbers = values.filter((value) => value !== null),
    low = Math.min(...numbers),
    high = Math.max(...numbers);
  if (low < 0) return [Math.min(low, -LEAST_DIFFERENCE), Math.max(high, LEAST_DIFFERENCE)];
  if (high >= 0.25 && high <= 1) return [0, 1];
  return [0, high > 0 ? high : 1];
}

/** @param {ClipEvent} event @returns {[number, number]} Its longest run of frames. */
const longest = (event) => event.frames.reduce((best, run) => (run[1] - run[0] > best[1] - best[0] ? run : best));

export class Timeline {
  /**
   * @param {Player} player
   * @param {ClipDetail} detail
   * @param {(event: ClipEvent) => void} onEvent An event was chosen.
   */
  constructor(player, detail, onEvent) {
    this.player = player;
    this.detail = detail;
    this.onEvent = onEvent;
    this.n = player.frames;
    /** @type {Map<ClipEvent, HTMLElement>} */
    this.bars = new Map();
    /** @type {{ plot: uPlot, value: HTMLElement, values: (number | null)[] }[]} */
    this.plots = [];
    this.width = 0;
    const order = data.index.metrics.map((metric) => metric.key);
    const metrics = [
      ...new Set([...order, ...detail.events.map((event) => event.metric), ...Object.keys(detail.series)]),
    ];
    this.rulers = [this.ruler(true)];
    this.lanes = metrics.map((metric) => this.lane(metric)).filter((lane) => lane !== null);
    this.curves = metrics.flatMap((metric) => this.seriesOf(metric));
    this.cursor = h("div.timeline-cursor", { "aria-hidden": "true" });
    this.root = h(
      "section.timeline",
      { "aria-label": "Events and series", "--n": this.n },
      this.rulers[0],
      this.lanes.map((lane) => lane.root),
      this.curves.map((curve) => curve.root),
      this.cursor,
    );
    if (this.curves.length) {
      this.rulers.push(this.ruler(false));
      this.root.append(this.rulers[1]);
    }
    this.root.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => this.drag(event));
    this.quiet = player.onFrame((frame) => this.move(frame));
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(this.root);
    this.move(player.frame);
  }

  // The axis.

  /** @param {boolean} control The slider that keys and screen readers use. */
  ruler(control) {
    if (!control) return h("div.timeline-ruler", { "aria-hidden": "true" });
    const about = { "aria-label": "Frame", "aria-valuemin": 0, "aria-valuemax": this.n - 1 };
    const ruler = h("div.timeline-ruler", { role: "slider", tabindex: 0, ...about });
    const move = (/** @type {number} */ by) => {
      this.player.pause();
      this.player.seek(this.player.frame + by);
    };
    onKeys(ruler, sliderKeys(1, move));
    return ruler;
  }

  /** @param {number} frame @returns {string} Place of its start on the axis. */
  place(frame) {
    return `${(100 * frame) / this.n}%`;
  }

  ticks() {
    const step = stepOf(this.n, Math.max(2, Math.floor(this.width / 64)));
    for (const ruler of this.rulers) {
      const strip = h(
        "div.timeline-ticks",
        Array.from({ length: Math.ceil(this.n / step) }, (_, i) => i * step).map((frame) =>
          h(
            "span",
            { "--at": this.place(frame + 0.5) },
            h("b", { text: frame }),
            ` ${this.player.timeOf(frame).toFixed(2)} s`,
          ),
        ),
      );
      ruler.replaceChildren(h("span.timeline-name", "frame"), strip);
    }
  }

  /** @param {PointerEvent} start */
  drag(start) {
    const target = /** @type {Element} */ (start.target);
    if (start.button || target.closest("button")) return;
    const left = this.root.getBoundingClientRect().left + GUTTER;
    if (start.clientX < left || start.clientX > left + this.width) return;
    const seek = (/** @type {PointerEvent} */ event) => {
      this.player.seek(Math.min(this.n - 1, Math.max(0, Math.floor(((event.clientX - left) / this.width) * this.n))));
    };
    this.player.pause();
    seek(start);
    this.root.setPointerCapture(start.pointerId);
    this.root.addEventListener("pointermove", seek);
    const end = () => {
      this.root.removeEventListener("pointermove", seek);
      for (const name of ["pointerup", "pointercancel"]) this.root.removeEventListener(name, end);
    };
    for (const name of ["pointerup", "pointercancel"]) this.root.addEventListener(name, end);
  }

  /** @param {number} frame */
  move(frame) {
    this.root.style.setProperty("--frame", String(frame));
    const [slider] = this.rulers;
    slider.setAttribute("aria-valuenow", String(frame));
    slider.setAttribute("aria-valuetext", `frame ${frame}, ${this.player.timeOf(frame).toFixed(2)} s`);
    for (const { value, values } of this.plots) value.textContent = score(values[frame]);
    for (const [event, bar] of this.bars) bar.classList.toggle("now", eventAt(event, frame));
  }

  // Lanes.

  /** @param {string} metric */
  lane(metric) {
    const events = this.detail.events.filter((event) => event.metric === metric && event.frames.length);
    if (!events.length) return null;
    events.sort((a, b) => a.frames[0][0] - b.frames[0][0] || (b.cost ?? 0) - (a.cost ?? 0));
    const label = data.metric(metric)?.label ?? metric;
    const strip = h("div.timeline-strip");
    for (const event of events) {
      const bar = this.bar(event);
      this.bars.set(event, bar);
      strip.append(bar);
    }
    const root = h(
      "div.timeline-lane",
      { role: "group", "aria-label": `${label} events`, "--colour": colour(metric) },
      h("span.timeline-name.metric", { text: label, title: data.metric(metric)?.title ?? metric }),
      strip,
    );
    return { root, strip, events };
  }

  /** @param {ClipEvent} event */
  bar(event) {
    const first = event.frames[0][0],
      length = event.frames[event.frames.length - 1][1] + 1 - first;
    const light = () => {
      this.player.highlight = event;
    };
    const dim = () => {
      if (this.player.highlight === event) this.player.highlight = null;
    };
    return h(
      `button.timeline-bar${event.excuse === null ? "" : ".excused"}`,
      {
        type: "button",
        title: eventText(event),
        "--first": first,
        "--length": length,
        onclick: () => this.onEvent(event),
        onpointerenter: light,
        onfocus: light,
        onpointerleave: dim,
        onblur: dim,
      },
      event.frames.map(([from, to]) =>
        h("i", { "--from": `${(100 * (from - first)) / length}%`, "--to": `${(100 * (to + 1 - first)) / length}%` }),
      ),
      h("span", {
        text: [
          event.target ? `${event.target}: ` : "",
          event.reason,
          eventCost(event) && ` · ${eventCost(event)}`,
        ].join(""),
      }),
    );
  }

  /** Put bars on rows so that none covers another, with their texts where these fit. */
  pack() {
    measure.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    for (const { strip, events } of this.lanes) {
      const packed = this.rows(events, true),
        texts = packed.count <= MOST_ROWS,
        { rows, sides, count } = texts ? packed : this.rows(events, false);
      events.forEach((event, index) => {
        const bar = /** @type {HTMLElement} */ (this.bars.get(event));
        bar.style.top = `${rows[index] * ROW}px`;
        bar.dataset.text = texts ? sides[index] : "none";
        const [from, to] = longest(event),
          [first] = event.frames[0],
          length = event.frames[event.frames.length - 1][1] + 1 - first;
        bar.style.setProperty("--text-from", `${(100 * (from - first)) / length}%`);
        bar.style.setProperty("--text-length", `${(100 * (to + 1 - from)) / length}%`);
      });
      strip.style.height = `${count * ROW}px`;
    }
  }

  /**
   * @param {ClipEvent[]} events
   * @param {boolean} texts
   * @returns {{ rows: number[], sides: string[], count: number }}
   */
  rows(events, texts) {
    const px = this.width / this.n;
    /** @type {[number, number][][]} */
    const taken = [];
    const rows = [],
      sides = [];
    for (const event of events) {
      let start = event.frames[0][0] * px,
        end = Math.max(start + LEAST_BAR, (event.frames[event.frames.length - 1][1] + 1) * px),
        side = "none";
      const text = measure.measureText(/** @type {HTMLElement} */ (this.bars.get(event)).textContent ?? "").width + 12;
      const [from, to] = longest(event);
      if (texts && text <= (to + 1 - from) * px) side = "in";
      else if (texts && end + text <= this.width) [side, end] = ["right", end + text];
      else if (texts && start - text >= 0) [side, start] = ["left", start - text];
      else if (texts && (to + 1 - from) * px >= LEAST_TEXT) side = "in";
      let row = taken.findIndex((spans) => spans.every(([from, to]) => end + 2 <= from || to + 2 <= start));
      if (row < 0) row = taken.push([]) - 1;
      taken[row].push([start, end]);
      rows.push(row);
      sides.push(side);
    }
    return { rows, sides, count: taken.length };
  }

  // Plots.

  /** @param {string} metric */
  seriesOf(metric) {
    const series = Object.entries(this.detail.series[metric] ?? {}).filter(
      ([, values]) => values.length === this.n && values.some((value) => value !== null),
    );
    const threshold = series.find(([name]) => name === "threshold")?.[1] ?? null;
    return series
      .filter(([name]) => name !== "threshold")
      .map(([name, values]) => {
        const label = data.metric(metric)?.label ?? metric,
          value = h("b.n"),
          box = h("div.timeline-plot");
        const root = h(
          "figure.timeline-series",
          { "--colour": colour(metric) },
          h(
            "figcaption",
            h("span.metric", `${label} ${name}`, threshold && h("span.muted", { text: ", dashed: threshold" })),
            value,
          ),
          box,
        );
        return { root, box, value, metric, values, threshold };
      });
  }

  draw() {
    for (const { box, value, metric, values, threshold } of this.curves) {
      const range = ends([...values, ...(threshold ?? [])]),
        events = this.detail.events.filter((event) => event.metric === metric);
      const colour = `--m-${data.metric(metric)?.colour ?? "own"}`;
      const dots = { show: this.n <= 100, size: 4, width: 0, fill: () => css(colour) };
      const plot = new uPlot(
        {
          width: this.width + GUTTER + END,
          height: PLOT_HEIGHT,
          padding: [8, END, 8, 0],
          cursor: { show: false },
          legend: { show: false },
          scales: { x: { time: false, range: [-0.5, this.n - 0.5] }, y: { range } },
          axes: [
            { show: false },
            {
              size: GUTTER,
              gap: 6,
              font: "12px system-ui, sans-serif",
              stroke: () => css("--muted"),
              ticks: { show: false },
              splits: () => [range[0], (range[0] + range[1]) / 2, range[1]],
              values: (_, splits) => splits.map((split) => String(+split.toPrecision(3)).replace("-", "−")),
              grid: { stroke: () => css("--rule"), width: 1 },
            },
          ],
          series: [
            {},
            { stroke: () => css(colour), width: 2, points: dots },
            ...(threshold ? [{ stroke: () => css("--muted"), width: 1.5, dash: [5, 4], points: { show: false } }] : []),
          ],
          hooks: { drawClear: [(u) => this.tint(u, events)], draw: [(u) => this.faults(u, events, values)] },
        },
        [Array.from({ length: this.n }, (_, frame) => frame), values, ...(threshold ? [threshold] : [])],
        box,
      );
      this.plots.push({ plot, value, values });
    }
    this.move(this.player.frame);
  }

  /** Tint the frames of events behind a curve. @param {uPlot} plot @param {ClipEvent[]} events */
  tint(plot, events) {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.globalAlpha = 0.16;
    for (const excused of [true, false]) {
      ctx.fillStyle = css(excused ? "--excused" : "--fault");
      const frames = new Set();
      for (const event of events)
        if ((event.excuse !== null) === excused)
          for (const [first, last] of event.frames) for (let frame = first; frame <= last; frame++) frames.add(frame);
      for (const frame of frames) {
        const [left, right] = [frame - 0.5, frame + 0.5].map((at) => plot.valToPos(at, "x", true));
        ctx.fillRect(left, bbox.top, right - left, bbox.height);
      }
    }
    ctx.restore();
  }

  /**
   * Mark the values of frames that cost points.
   * @param {uPlot} plot
   * @param {ClipEvent[]} events
   * @param {(number | null)[]} values
   */
  faults(plot, events, values) {
    const { ctx } = plot;
    ctx.save();
    ctx.fillStyle = css("--fault");
    values.forEach((value, frame) => {
      if (value === null || !events.some((event) => event.excuse === null && eventAt(event, frame))) return;
      ctx.beginPath();
      ctx.arc(plot.valToPos(frame, "x", true), plot.valToPos(value, "y", true), 3 * devicePixelRatio, 0, 2 * Math.PI);
      ctx.fill();
    });
    ctx.restore();
  }

  /** Mark an event as chosen. @param {ClipEvent | null} event */
  choose(event) {
    for (const [other, bar] of this.bars) bar.toggleAttribute("data-chosen", other === event);
  }

  fit() {
    const width = this.root.clientWidth - GUTTER - END;
    if (width <= 0 || width === this.width) return;
    this.width = width;
    this.ticks();
    this.pack();
    if (!this.plots.length) this.draw();
    else for (const { plot } of this.plots) plot.setSize({ width: width + GUTTER + END, height: PLOT_HEIGHT });
  }

  destroy() {
    this.quiet();
    this.resized.disconnect();
    for (const { plot } of this.plots) plot.destroy();
  }
}
