// One clip: player with layers, events and series on its axis, scores, events by cost, and what is known of it.

import { button, copyLink, count, fixed, h, views } from "./core.js";
import { definitions, factsOf, othersOf, scoresOf } from "./clipfacts.js";
import { colour, data } from "./data.js";
import { byCost, eventAt, eventFrames, eventText } from "./events.js";
import { rows } from "./filter.js";
import { PLAYER_KEYS, onKeys, playerKeys, toggleLayer } from "./keys.js";
import { FramePlayer } from "./player.js";
import { go, link, state } from "./state.js";
import { Timeline } from "./timeline.js";

const LEAST_LOOP = 0.5; // s: shorter events are looped with frames around them
const WRITE_AFTER = 150; // ms without another frame, until the URL has it
class ClipPage {
  /** @param {HTMLElement} root @param {number} row */
  constructor(root, row) {
    this.root = root;
    this.row = row;
    this.id = data.id(row);
    this.closed = false;
    /** @type {ClipEvent | null} */
    this.chosen = null;
    /** Metric whose events are listed; "" for all. */
    this.only = "";
    /** @type {ClipDetail | null} */
    this.detail = null;
    /** @type {any} */
    this.timeline = null;
    this.timer = 0;
    this.started = false;
    /** Frame that the URL has. */
    this.written = state.frame;
    this.player = new FramePlayer(row, { controls: true, layers: state.layers });
    this.keys = this.help();
    this.deaf = onKeys(document, {
      ...playerKeys(this.player, {
        step: (frames) => {
          this.player.pause();
          this.player.seek(this.player.frame + frames);
        },
        turn: (by) => this.turn(by),
        loop: () => {
          if (this.player.loop) this.player.loop = null;
          else if (this.chosen?.frames.length) this.loop(this.chosen);
          else this.player.loop = [0, this.player.frames - 1];
        },
      }),
      "?": () => (this.keys.open ? this.keys.close() : this.keys.showModal()),
    });
    this.copied = h("span.small.muted", { role: "status" });
    this.choice = h("div.clip-choice");
    this.lanes = h("div");
    this.events = h("section.clip-events");
    this.facts = h("section");
    this.scores = h("section");
    root.replaceChildren(
      h(
        "article.clip",
        this.heading(),
        h("div.clip-main", this.player.root, this.choice, this.lanes),
        h("div.clip-facts", this.scores, this.events, othersOf(row), this.facts),
      ),
      this.keys,
    );
    // After a click the space bar plays again; who works by keyboard stays on the button.
    const article = /** @type {HTMLElement} */ (root.firstElementChild);
    article.addEventListener("click", ({ detail }) => {
      const focused = /** @type {HTMLElement | null} */ (document.activeElement);
      if (detail > 0 && focused?.matches("button") && article.contains(focused)) focused.blur();
    });
    this.scores.replaceChildren(...scoresOf(row, this.detail));
    this.choose(null);
    this.player.onFrame(() => this.write());
    this.player.root.addEventListener("playerchange", () => {
      if (this.closed) return;
      if (this.player.layers.join() !== state.layers.join()) go({ layers: this.player.layers }, { replace: true });
      this.looping?.setAttribute("aria-pressed", String(Boolean(this.player.loop)));
      this.write();
    });
    data.detail(row).then(
      (detail) => this.fill(detail),
      (error) => this.events.replaceChildren(h("p.note", { text: error.message })),
    );
  }

  /** @param {ClipDetail} detail */
  fill(detail) {
    if (this.closed) return;
    this.detail = detail;
    this.timeline = new Timeline(this.player, detail, (event) => this.go(event));
    this.lanes.replaceChildren(this.timeline.root);
    const { frame, exact, sort } = state,
      linked = exact || frame > 0;
    const faults = byCost(detail.events).filter(
      (event) => event.frames.length && event.excuse === null && (!linked || eventAt(event, frame)),
    );
    // Who sorts by a score asks about that one.
    const worst = faults.find((event) => event.metric === sort) ?? faults[0];
    if (detail.events.some((event) => event.metric === sort)) this.only = sort;
    this.scores.replaceChildren(...scoresOf(this.row, detail));
    this.fillEvents();
    this.facts.replaceChildren(...factsOf(this.row, detail, (at) => this.showSaliency(at)));
    if (linked && worst) this.choose(worst);
    const opened = linked ? this.player.seek(frame) : worst ? this.go(worst) : this.player.seek(0);
    opened.then(() => {
      this.started = true;
      this.write();
    });
  }

  // What is chosen.

  /** @param {ClipEvent} event @returns {Promise<void>} */
  go(event) {
    this.player.pause();
    if (this.player.loop) this.player.loop = null;
    this.choose(event);
    return event.frames.length ? this.player.seek(event.frames[0][0]) : Promise.resolve();
  }

  /** @param {ClipEvent | null} event */
  choose(event) {
    this.chosen = this.player.chosen = event;
    this.player.highlight = null;
    for (const [other, item] of this.items ?? []) item.toggleAttribute("data-chosen", other === event);
    this.timeline?.choose(event);
    this.looping = event?.frames.length
      ? button("Loop its frames", () => this.loop(this.player.loop ? null : event), {
          "aria-pressed": String(Boolean(this.player.loop)),
          title: "Loop (l)",
        })
      : null;
    this.choice.replaceChildren(
      event
        ? h(`span.clip-event${event.excuse === null ? ".fault" : ".muted"}`, { text: eventText(event) })
        : h("span.muted", { text: "Choose an event to go to its first frame." }),
      this.looping ?? "",
    );
  }

  /** @param {ClipEvent | null} event null: no loop any more. */
  loop(event) {
    if (!event) {
      this.player.loop = null;
      return;
    }
    const [first, last] = [event.frames[0][0], event.frames[event.frames.length - 1][1]];
    const length = LEAST_LOOP * (data.fps(this.row) || 24),
      more = Math.max(0, Math.ceil((length - (last - first + 1)) / 2));
    if (event !== this.chosen) this.choose(event);
    this.player.loop = [first - more, last + more];
    this.player.seek(first - more).then(() => this.player.play());
  }

  /** Write the frame into the URL when it has come to rest. */
  write() {
    clearTimeout(this.timer);
    if (!this.started || this.player.playing) return;
    this.timer = setTimeout(() => {
      if (this.closed || this.player.playing || state.clip !== this.id) return;
      this.writeNow();
    }, WRITE_AFTER);
  }

  writeNow() {
    this.written = this.player.frame;
    if (state.frame !== this.written || !state.exact) go({ frame: this.written, exact: true }, { replace: true });
  }

  async copyLink() {
    this.player.pause();
    this.writeNow();
    await copyLink(this.copied);
  }

  /** @param {State} state */
  update(state) {
    if (state.layers.join() !== this.player.layers.join()) this.player.layers = state.layers;
    if (!this.started || !state.exact || state.frame === this.written) return;
    this.written = state.frame;
    this.player.pause();
    this.player.seek(state.frame);
  }

  // Parts.

  heading() {
    const list = rows(),
      position = list.indexOf(this.row),
      { prompt, model, run } = data;
    const step = (/** @type {number} */ by, /** @type {string} */ text) => {
      const target = list[position < 0 ? 0 : position + by];
      return target === undefined
        ? h("span.muted", { text })
        : h("a", { href: link({ view: "clip", clip: data.id(target) }), text });
    };
    return h(
      "div.clip-heading",
      h(
        "div.clip-steps.small",
        step(-1, "← Previous"),
        step(1, "Next →"),
        h("span.muted", {
          text: position < 0 ? "not in the present filter" : `${position + 1} of ${count(list.length, "clip")}`,
        }),
        h(
          "span.clip-tools",
          this.copied,
          button("Copy link to this frame", () => this.copyLink()),
          button("Keys", () => this.keys.showModal(), { title: "Keys (?)" }),
        ),
      ),
      h("h2", { text: data.name(this.row) }),
      prompt.call(data, this.row) && h("p.clip-prompt", { text: `“${prompt.call(data, this.row)}”` }),
      h("p.small.muted", { text: `${model.call(data, this.row)} · run ${run.call(data, this.row).name}` }),
    );
  }

  fillEvents() {
    const all = byCost(this.detail?.events ?? []),
      events = all.filter((event) => !this.only || event.metric === this.only);
    const keys = [
      "",
      ...data.index.metrics.map(({ key }) => key).filter((key) => all.some((event) => event.metric === key)),
    ];
    const choice =
      keys.length > 2 &&
      h(
        "div.clip-only",
        { role: "group", "aria-label": "Events of" },
        keys.map((key) =>
          h("button.small", {
            type: "button",
            "aria-pressed": String(key === this.only),
            text: key ? (data.metric(key)?.label ?? key) : "All",
            onclick: () => {
              this.only = key;
              this.fillEvents();
              this.events.querySelector(".clip-only [aria-pressed=true]")?.focus();
            },
          }),
        ),
      );
    /** @type {Map<ClipEvent, HTMLElement>} */
    this.items = new Map(events.map((event) => [event, this.item(event)]));
    const faults = events.filter((event) => event.excuse === null).length,
      excused = events.length - faults;
    this.events.replaceChildren(
      h("h3", { text: "Events" }),
      h("p.small.muted", {
        text: events.length
          ? `${faults} that cost points${this.sum(events)}, ${excused} excused`
          : "Nothing cost points.",
      }),
      choice,
      h("ol.clip-list", [...this.items.values()]),
    );
    this.items.get(/** @type {any} */ (this.chosen))?.toggleAttribute("data-chosen", true);
  }

  /**
   * @param {ClipEvent[]} events of one metric
   * @returns {string} ", 12.5 together", or nothing for several metrics.
   */
  sum(events) {
    const total = events.reduce((points, event) => points + (event.cost ?? 0), 0);
    return this.only && total > 0 ? ` (${fixed(total, 1)} together)` : "";
  }

  /** @param {ClipEvent} event */
  item(event) {
    const label = data.metric(event.metric)?.label ?? event.metric,
      dim = () => {
        this.player.highlight = null;
      };
    const light = () => {
      this.player.highlight = event;
    };
    const text = [
      h("span.clip-metric", { text: label, "--colour": colour(event.metric) }),
      h("span", { text: `${event.target ? `${event.target}: ` : ""}${event.reason}` }),
      h("span.n", { text: event.cost ? `${fixed(event.cost, 1)} points` : "" }),
      h("span.small.muted.clip-when", {
        text: [eventFrames(event), event.excuse && `excused: ${event.excuse}`].filter(Boolean).join(" · "),
      }),
    ];
    const about = { title: eventText(event), onpointerenter: light, onfocus: light, onpointerleave: dim, onblur: dim };
    return h(
      `li${event.excuse === null ? "" : ".muted"}`,
      event.frames.length
        ? [
            h("button.clip-item", { type: "button", ...about, onclick: () => this.show(event) }, text),
            h("button.small", {
              type: "button",
              text: "Loop",
              "aria-label": `Loop: ${eventText(event)}`,
              onclick: () => this.loop(event),
            }),
          ]
        : h("div.clip-item", { title: eventText(event) }, text),
    );
  }

  /** @param {ClipEvent} event of the list, which may be far below the picture. */
  show(event) {
    this.go(event);
    this.player.root.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} frame */
  showSaliency(frame) {
    const { player } = this;
    player.pause();
    if (!player.layers.includes("saliency")) toggleLayer(player, "saliency");
    player.seek(frame);
  }

  help() {
    const shown = [...PLAYER_KEYS, ["?", "this list"]];
    const dialog = h(
      "dialog.clip-keys",
      { "aria-label": "Keys" },
      h("h3", { text: "Keys" }),
      definitions(shown.map(([key, text]) => [h("kbd", { text: key }), text])),
      button("Close", () => dialog.close()),
    );
    return dialog;
  }

  /** @param {number} by Opens the clip so many places on in the filter. */
  turn(by) {
    const list = rows(),
      position = list.indexOf(this.row),
      next = list[position < 0 ? 0 : position + by];
    if (next !== undefined) go({ clip: data.id(next) });
  }

  close() {
    this.closed = true;
    this.deaf();
    clearTimeout(this.timer);
    this.timeline?.destroy();
    this.player.destroy();
  }
}

views.push({
  key: "clip",
  title: "",
  available: () => data.n > 0,
  open: (root) => {
    /** @type {ClipPage | null} */
    let page = null;
    let shown = "";
    const show = () => {
      page?.close();
      page = null;
      shown = state.clip;
      const row = data.find(shown);
      if (row >= 0) page = new ClipPage(root, row);
      else
        root.replaceChildren(
          h("p.empty", { text: shown ? `There is no clip ${shown} in this report.` : "No clip is chosen." }),
        );
    };
    show();
    return {
      update: (state) => {
        if (state.clip !== shown) show();
        else page?.update(state);
      },
      close: () => page?.close(),
    };
  },
});
