// One pair of clips: both players on one transport, their events, and the scores of both.

import { button, copyLink, fixed, h, signed } from "./core.js";
import { colour, data } from "./data.js";
import { Duet, wipeLine } from "./duet.js";
import { eventText } from "./events.js";
import { onKeys, playerKeys } from "./keys.js";
import { pairDifference } from "./matching.js";
import { FramePlayer } from "./player.js";
import { go, state } from "./state.js";
import { head, wide } from "./tables.js";
import { Timeline } from "./timeline.js";
import { transport } from "./transport.js";

const PAUSE = 200; // ms without a new frame after which the URL takes it up
const SAME_SHAPE = 0.01; // of the ratio of width and height

/** @typedef {import("./matching.js").Side} Side */
/** @typedef {import("./matching.js").Pair} Pair */

/** @param {Side} side @param {string} letter @returns {any} "A alpha" */
const nameOf = (side, letter) => [
  h("b.letter", { text: letter, title: side.label }),
  h("span.side-name", { text: ` ${side.label}` }),
];

export class PairView {
  /**
   * @param {Side} a
   * @param {Side} b
   * @param {Pair} pair
   * @param {string} position "3 of 17"
   * @param {{ previous: string | null, next: string | null, all: string }} links
   */
  constructor(a, b, pair, position, links) {
    this.sides = [a, b];
    this.rows = [pair.a, pair.b];
    this.links = links;
    this.players = this.rows.map((row) => new FramePlayer(row, { layers: state.layers }));
    this.duet = new Duet(this.players[0], this.players[1]);
    /** @type {any[]} */
    this.timelines = [];
    this.closed = false;
    this.timer = 0;
    const titles = this.players.map((player, k) =>
      h(
        "figcaption",
        h("span.who", { title: this.sides[k].label }, nameOf(this.sides[k], "AB"[k])),
        h("span.at.small.muted"),
      ),
    );
    this.figures = this.players.map((player, k) => h("figure.duet-side", titles[k], player.root));
    this.box = h("div.duet-box", this.figures);
    this.line = wipeLine(this.box, 50, (percent) => go({ wipe: String(percent) }, { replace: true }));
    this.box.append(this.line.root);
    this.lanes = h("div.duet-lanes");
    this.status = h("span.small", { role: "status" });
    this.modes = ["Side by side", "Wipe"].map((text, k) =>
      button(text, () => go({ wipe: k ? "50" : "" }, { replace: true }), { "data-key": text }),
    );
    this.shape = h("p.small.muted");
    this.root = h(
      "section.pair",
      { "aria-label": "Pair" },
      this.head(pair, position),
      this.box,
      transport(this.duet),
      this.shape,
      this.lanes,
      this.scores(),
    );
    for (const [k, player] of this.players.entries())
      player.onFrame((frame) => {
        titles[k].lastChild.textContent = `frame ${frame} of ${player.frames - 1}, ${fixed(player.timeOf(frame), 2)} s`;
        this.note();
      });
    this.duet.root.addEventListener("playerchange", () => {
      if (!this.closed && this.duet.layers.join() !== state.layers.join())
        go({ layers: this.duet.layers }, { replace: true });
    });
    /** True where the URL names the frame; else the pair opens at the most costly event of the score compared. */
    this.linked = state.exact || state.frame > 0;
    this.deaf = onKeys(
      document,
      playerKeys(this.duet, {
        step: (frames) => this.duet.step(frames),
        turn: (by) => {
          const href = by > 0 ? links.next : links.previous;
          if (href) location.hash = href;
        },
        loop: () => {
          this.duet.loop = this.duet.loop ? null : [0, this.duet.frames - 1];
        },
      }),
    );
    this.update(state);
    this.loadEvents().catch(() => {}); // the players say what is missing
    this.duet.seekA(state.frame);
  }

  /** @param {Pair} pair @param {string} position */
  head(pair, position) {
    const { previous, next, all } = this.links;
    const to = (/** @type {string} */ text, /** @type {string | null} */ href, /** @type {string} */ key) =>
      href ? h("a", { href, text, "data-key": text, title: key && `${text} (${key})` }) : h("span.muted", { text });
    const turned = () =>
      go({ a: this.sides[1].key, b: this.sides[0].key, clip: data.id(this.rows[1]), frame: this.players[1].frame });
    const swap = button("Swap sides", turned, { "data-key": "swap" });
    const copy = button("Copy link to this frame", () => this.copy(), { "data-key": "copy" });
    return [
      h(
        "p.pair-nav",
        to("All pairs", all, ""),
        h("span", { text: `pair ${position}` }),
        to("Previous pair", previous, "k"),
        to("Next pair", next, "j"),
      ),
      h("h3.pair-prompt", { text: pair.key }),
      h(
        "div.pair-tools",
        h("span.choice", { role: "group", "aria-label": "Layout" }, this.modes),
        swap,
        copy,
        this.status,
      ),
    ];
  }

  scores() {
    const [a, b] = this.rows;
    const cell = (/** @type {string} */ metric, /** @type {number} */ row) => {
      const { reason } = data.missing(metric, row);
      return h(
        "td.n",
        { title: data.place(metric, row) || null },
        data.shown(metric, row),
        reason && h("div.reason.small.muted", { text: reason }),
      );
    };
    const rows = data.index.metrics.map((metric) =>
      h(
        "tr",
        h(
          "th",
          { scope: "row", title: metric.title, "--colour": colour(metric.key) },
          metric.label,
          metric.unit && h("span.muted", { text: ` ${metric.unit}` }),
        ),
        cell(metric.key, a),
        cell(metric.key, b),
        h("td.n", { text: signed(pairDifference(metric.key, { a, b }), 3) }),
      ),
    );
    const names = this.sides.map((side, k) => head(nameOf(side, "AB"[k]), ".n"));
    const heads = h("thead", h("tr", head("Score"), names, head("B less A", ".n")));
    return wide("Scores of both clips", h("table.pair-scores", heads, h("tbody", rows)));
  }

  async loadEvents() {
    const details = await Promise.all(this.rows.map((row) => data.detail(row)));
    if (this.closed) return;
    for (const [k, player] of this.players.entries()) {
      // Its frames are those of the clip; seeking moves both clips.
      const both = new Proxy(player, {
        get: (target, name) => {
          if (name === "seek") return (/** @type {number} */ frame) => this.seekFrom(k, frame);
          if (name === "pause") return () => this.duet.pause();
          const value = /** @type {any} */ (target)[name];
          return typeof value === "function" ? value.bind(target) : value;
        },
        set: (target, name, value) => Reflect.set(target, name, value, target),
      });
      const section = h(
        "section.duet-lane",
        { "aria-label": `Events of ${this.sides[k].label}` },
        h("h3", nameOf(this.sides[k], "AB"[k])),
      );
      const whole = details[k].events.filter((event) => !event.frames.length);
      const lane = new Timeline(both, { ...details[k], series: {} }, (event) => {
        this.duet.pause();
        this.seekFrom(k, event.frames[0][0]);
      });
      this.timelines.push(lane);
      section.append(lane.root);
      if (whole.length)
        section.append(
          h(
            "ul.small",
            whole.map((event) => h("li", { text: eventText(event) })),
          ),
        );
      this.lanes.append(section);
    }
    const faults = details.flatMap(({ events }, k) =>
      events
        .filter((event) => event.metric === state.metric && event.cost && event.frames.length)
        .map((event) => ({ k, cost: event.cost ?? 0, frame: event.frames[0][0] })),
    );
    if (!this.linked && faults.length && !this.duet.playing) {
      const { k, frame } = faults.reduce((worst, fault) => (fault.cost > worst.cost ? fault : worst));
      await this.seekFrom(k, frame);
    }
  }

  /** @param {number} k Side. @param {number} frame of its clip */
  seekFrom(k, frame) {
    const [player, other] = [this.players[k], this.players[1 - k]];
    return Promise.all([player.seek(frame), other.seek(other.frameAt(player.timeOf(frame)))]).then(() => {});
  }

  /** Put the frame into the URL once it rests. */
  note() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const { frame } = this.players[0];
      if (!this.closed && !this.duet.playing && frame !== state.frame) go({ frame, exact: true }, { replace: true });
    }, PAUSE);
  }

  async copy() {
    this.duet.pause();
    clearTimeout(this.timer);
    go({ frame: this.players[0].frame, exact: true }, { replace: true });
    await copyLink(this.status);
  }

  /** @param {State} state */
  update(state) {
    const wiping = state.wipe !== "";
    this.box.classList.toggle("wiping", wiping);
    for (const [k, button] of this.modes.entries()) button.setAttribute("aria-pressed", String(wiping === (k === 1)));
    if (wiping) this.line.set(Number(state.wipe) || 0);
    this.fitShapes(wiping).catch(() => {});
    if (state.layers.join() !== this.duet.layers.join()) this.duet.layers = state.layers;
    if (!this.duet.playing && state.frame !== this.players[0].frame && state.frame < this.players[0].frames)
      this.duet.seekA(state.frame);
  }

  /** Give both clips the shape of A while they lie over one another. @param {boolean} wiping */
  async fitShapes(wiping) {
    this.shape.textContent = "";
    if (!wiping) return;
    const details = await Promise.all(this.rows.map((row) => data.detail(row)));
    const sizes = details.flatMap(({ size, pixels }) => ((size ?? pixels) ? [size ?? pixels ?? [1, 1]] : []));
    if (sizes.length < 2) return;
    const text = (/** @type {number[]} */ size) => size.join(" × ");
    const [shape, other] = sizes.map(([width, height]) => width / height);
    this.box.style.setProperty("--shape", String(shape));
    if (Math.abs(other / shape - 1) > SAME_SHAPE)
      this.shape.textContent = `B (${text(sizes[1])}) is stretched to the shape of A (${text(sizes[0])}).`;
  }

  destroy() {
    this.closed = true;
    clearTimeout(this.timer);
    this.deaf();
    for (const timeline of this.timelines) timeline.destroy();
    this.duet.destroy();
    this.root.remove();
  }
}
