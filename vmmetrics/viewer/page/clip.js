// One clip: player with layers, events and series on its axis, scores, events by cost, facts, and the same prompt by others.
"use strict";

(() => {
  const STEP = 10; // frames, with shift
  const LEAST_LOOP = 0.5; // s: shorter events are looped with frames around them
  const WRITE_AFTER = 150; // ms without another frame, until the URL has it
  const MOST_OTHERS = 12;
  const LEVELS = ["Bad", "Poor", "Fair", "Good", "Perfect"];
  const KEYS = [
    ["space", "play or pause"], [", and . or ← and →", "one frame back or on"], ["shift with these", `${STEP} frames`],
    ["k and j", "previous and next clip of the filter"], ["l", "loop the chosen event, or the clip"],
    [`1 to ${vm.layers.length}`, `layers: ${vm.layers.join(", ")}`], ["?", "this list"],
  ];

  /** @param {ClipEvent} event @returns {number} Order of events: cost, else how far over its threshold. */
  const gravity = (event) => event.cost ?? Math.abs((event.magnitude ?? 0) / (event.threshold || Infinity)) / 1000;

  /** @param {ClipEvent[]} events @returns {ClipEvent[]} The most costly first, excused ones last. */
  const byCost = (events) => [...events].sort((a, b) =>
    Number(a.excuse !== null) - Number(b.excuse !== null) || gravity(b) - gravity(a) || (a.frames[0]?.[0] ?? 0) - (b.frames[0]?.[0] ?? 0));

  /** @returns {number[]} Rows that previous and next go through. */
  const rows = () => vm.rows ? Array.from(vm.rows()) : Array.from({ length: vm.data.n }, (_, row) => row);

  /** @param {number} row @returns {string} A side of a comparison. */
  const side = (row) => `${vm.data.index.clips.run[row]}/${vm.data.model(row)}`;

  /** @param {string} text */
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const field = vm.h("textarea", { text });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
  }

  class ClipPage {
    /** @param {HTMLElement} root @param {number} row */
    constructor(root, row) {
      this.root = root;
      this.row = row;
      this.id = vm.data.id(row);
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
      this.written = vm.state.frame;
      this.player = vm.player(row, { controls: true, layers: vm.state.layers });
      this.keys = this.help();
      this.copied = vm.h("span.small.muted", { role: "status" });
      this.choice = vm.h("div.clip-choice");
      this.lanes = vm.h("div");
      this.events = vm.h("section.clip-events");
      this.facts = vm.h("section");
      this.scores = vm.h("section");
      root.replaceChildren(vm.h("article.clip", {}, this.heading(),
        vm.h("div.clip-main", {}, this.player.root, this.choice, this.lanes),
        vm.h("div.clip-facts", {}, this.scores, this.events, this.others(), this.facts)), this.keys);
      // After a click the space bar plays again; who works by keyboard stays on the button.
      const article = /** @type {HTMLElement} */ (root.firstElementChild);
      article.addEventListener("click", ({ detail }) => {
        const focused = /** @type {HTMLElement | null} */ (document.activeElement);
        if (detail > 0 && focused?.matches("button") && article.contains(focused)) focused.blur();
      });
      this.fillScores();
      this.choose(null);
      this.player.onFrame(() => this.write());
      this.player.root.addEventListener("playerchange", () => {
        if (this.closed) return;
        if (this.player.layers.join() !== vm.state.layers.join()) vm.go({ layers: this.player.layers }, { replace: true });
        this.looping?.setAttribute("aria-pressed", String(Boolean(this.player.loop)));
        this.write();
      });
      vm.data.detail(row).then((detail) => this.fill(detail), (error) => this.events.replaceChildren(vm.h("p.note", { text: error.message })));
    }

    /** @param {ClipDetail} detail */
    fill(detail) {
      if (this.closed) return;
      this.detail = detail;
      this.timeline = vm.timeline(this.player, detail, (/** @type {ClipEvent} */ event) => this.go(event));
      this.lanes.replaceChildren(this.timeline.root);
      const { frame, exact, sort } = vm.state, linked = exact || frame > 0;
      const faults = byCost(detail.events).filter((event) => event.frames.length && event.excuse === null && (!linked || vm.eventAt(event, frame)));
      const worst = faults.find((event) => event.metric === sort) ?? faults[0]; // who sorts by a score asks about that one
      if (detail.events.some((event) => event.metric === sort)) this.only = sort;
      this.fillScores();
      this.fillEvents();
      this.fillFacts();
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
      this.looping = event?.frames.length ? vm.h("button", { type: "button", "aria-pressed": String(Boolean(this.player.loop)),
        text: "Loop its frames", title: "Loop (l)", onclick: () => this.loop(this.player.loop ? null : event) }) : null;
      this.choice.replaceChildren(event
        ? vm.h(`span.clip-event${event.excuse === null ? ".fault" : ".muted"}`, { text: vm.eventText(event) })
        : vm.h("span.muted", { text: "Choose an event to go to its first frame." }), this.looping ?? "");
    }

    /** @param {ClipEvent | null} event null: no loop any more. */
    loop(event) {
      if (!event) {
        this.player.loop = null;
        return;
      }
      const [first, last] = [event.frames[0][0], event.frames[event.frames.length - 1][1]];
      const length = LEAST_LOOP * (vm.data.fps(this.row) || 24), more = Math.max(0, Math.ceil((length - (last - first + 1)) / 2));
      if (event !== this.chosen) this.choose(event);
      this.player.loop = [first - more, last + more];
      this.player.seek(first - more).then(() => this.player.play());
    }

    /** Write the frame into the URL when it has come to rest. */
    write() {
      clearTimeout(this.timer);
      if (!this.started || this.player.playing) return;
      this.timer = setTimeout(() => {
        if (this.closed || this.player.playing || vm.state.clip !== this.id) return;
        this.writeNow();
      }, WRITE_AFTER);
    }

    writeNow() {
      this.written = this.player.frame;
      if (vm.state.frame !== this.written || !vm.state.exact) vm.go({ frame: this.written, exact: true }, { replace: true });
    }

    async copyLink() {
      this.player.pause();
      this.writeNow();
      await copy(location.href);
      this.copied.textContent = "Copied";
      setTimeout(() => { this.copied.textContent = ""; }, 2000);
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
      const list = rows(), position = list.indexOf(this.row), { prompt, model, run } = vm.data;
      const step = (/** @type {number} */ by, /** @type {string} */ text) => {
        const target = list[position < 0 ? 0 : position + by];
        return target === undefined ? vm.h("span.muted", { text }) : vm.h("a", { href: vm.link({ view: "clip", clip: vm.data.id(target) }), text });
      };
      return vm.h("div.clip-heading", {},
        vm.h("div.clip-steps.small", {}, step(-1, "← Previous"), step(1, "Next →"),
          vm.h("span.muted", { text: position < 0 ? "not in the present filter" : `${position + 1} of ${vm.count(list.length, "clip")}` }),
          vm.h("span.clip-tools", {}, this.copied,
            vm.h("button", { type: "button", text: "Copy link to this frame", onclick: () => this.copyLink() }),
            vm.h("button", { type: "button", text: "Keys", title: "Keys (?)", onclick: () => this.keys.showModal() }))),
        vm.h("h2", { text: vm.data.name(this.row) }),
        prompt.call(vm.data, this.row) && vm.h("p.clip-prompt", { text: `“${prompt.call(vm.data, this.row)}”` }),
        vm.h("p.small.muted", { text: `${model.call(vm.data, this.row)} · run ${run.call(vm.data, this.row).name}` }));
    }

    fillScores() {
      const { row, detail } = this, { metrics } = vm.data.index, lost = detail?.lost ?? {}, costs = Object.keys(lost).length > 0;
      const line = (/** @type {MetricInfo} */ { key, label, title, unit }) => {
        const score = vm.data.scores(key)[row], missing = vm.data.missing(key, row), place = vm.data.place(key, row), cost = lost[key];
        const shared = detail?.events.some((event) => event.metric === key && event.cost === null && event.frames.length > 0);
        const rest = cost && cost.unexplained >= 0.05 ? `${vm.fixed(cost.unexplained, 1)} ${shared ? "by all events" : "in no event"}` : null;
        return vm.h("tr", {},
          vm.h("th", { scope: "row", "--colour": vm.colour(key) }, vm.h("span.clip-metric", { text: label }), vm.h("div.small.muted", { text: title }), place && vm.h("div.small.muted", { text: place })),
          Number.isNaN(score)
            ? vm.h("td.muted", { colspan: costs ? 2 : 1 }, "– ", vm.h("span.small", { text: `${missing.kind === "failed" ? "failed: " : ""}${missing.reason}` }))
            : [vm.h("td.n", { title: unit || null }, vm.data.interval(key, row)),
              costs && vm.h("td.n", {}, cost ? vm.fixed(cost.points, 1) : "–", rest && vm.h("div.small.muted", { text: rest }))]);
      };
      this.scores.replaceChildren(vm.h("h3", { text: "Scores" }), vm.h("div.wide", { tabindex: 0, role: "region", "aria-label": "Scores" },
        vm.h("table.clip-scores", {}, costs && vm.h("thead", {}, vm.h("tr", {}, vm.h("th", { text: "Metric" }), vm.h("th.n", { text: "Score" }),
          vm.h("th.n", { text: "Lost, points" }))), vm.h("tbody", {}, metrics.map(line)))));
    }

    fillEvents() {
      const all = byCost(this.detail?.events ?? []), events = all.filter((event) => !this.only || event.metric === this.only);
      const keys = ["", ...vm.data.index.metrics.map(({ key }) => key).filter((key) => all.some((event) => event.metric === key))];
      const choice = keys.length > 2 && vm.h("div.clip-only", { role: "group", "aria-label": "Events of" }, keys.map((key) => vm.h("button.small", {
        type: "button", "aria-pressed": String(key === this.only), text: key ? vm.data.metric(key)?.label ?? key : "All",
        onclick: () => { this.only = key; this.fillEvents(); this.events.querySelector(".clip-only [aria-pressed=true]")?.focus(); } })));
      /** @type {Map<ClipEvent, HTMLElement>} */
      this.items = new Map(events.map((event) => [event, this.item(event)]));
      const faults = events.filter((event) => event.excuse === null).length, excused = events.length - faults;
      this.events.replaceChildren(vm.h("h3", { text: "Events" }),
        vm.h("p.small.muted", { text: events.length ? `${faults} that cost points${this.sum(events)}, ${excused} excused` : "Nothing cost points." }), choice,
        vm.h("ol.clip-list", {}, [...this.items.values()]));
      this.items.get(/** @type {any} */ (this.chosen))?.toggleAttribute("data-chosen", true);
    }

    /** @param {ClipEvent[]} events of one metric @returns {string} ", 12.5 together", or nothing for several metrics. */
    sum(events) {
      const total = events.reduce((points, event) => points + (event.cost ?? 0), 0);
      return this.only && total > 0 ? ` (${vm.fixed(total, 1)} together)` : "";
    }

    /** @param {ClipEvent} event */
    item(event) {
      const label = vm.data.metric(event.metric)?.label ?? event.metric, dim = () => { this.player.highlight = null; };
      const light = () => { this.player.highlight = event; };
      const text = [
        vm.h("span.clip-metric", { text: label, "--colour": vm.colour(event.metric) }),
        vm.h("span", { text: `${event.target ? `${event.target}: ` : ""}${event.reason}` }),
        vm.h("span.n", { text: event.cost ? `${vm.fixed(event.cost, 1)} points` : "" }),
        vm.h("span.small.muted.clip-when", { text: [vm.eventFrames(event), event.excuse && `excused: ${event.excuse}`].filter(Boolean).join(" · ") }),
      ];
      const about = { title: vm.eventText(event), onpointerenter: light, onfocus: light, onpointerleave: dim, onblur: dim };
      return vm.h(`li${event.excuse === null ? "" : ".muted"}`, {}, event.frames.length
        ? [vm.h("button.clip-item", { type: "button", ...about, onclick: () => this.show(event) }, text),
          vm.h("button.small", { type: "button", text: "Loop", "aria-label": `Loop: ${vm.eventText(event)}`, onclick: () => this.loop(event) })]
        : vm.h("div.clip-item", { title: vm.eventText(event) }, text));
    }

    /** @param {ClipEvent} event of the list, which may be far below the picture. */
    show(event) {
      this.go(event);
      this.player.root.scrollIntoView({ block: "nearest" });
    }

    /** The same prompt by other models and in other runs. */
    others() {
      const { row } = this, { clips } = vm.data.index, prompt = clips.prompt[row], names = clips.name;
      const shown = vm.data.metric(vm.state.metric) ?? vm.data.index.metrics[0];
      const same = prompt < 0 ? [] : Array.from(names.keys()).filter((other) => other !== row && clips.prompt[other] === prompt && side(other) !== side(row));
      if (!same.length) return null;
      const compare = vm.views.some((view) => view.key === "compare");
      return vm.h("section", {}, vm.h("h3", { text: "The same prompt" }), vm.h("ul.clip-others", {}, same.slice(0, MOST_OTHERS).map((other) => vm.h("li", {},
        vm.h("a", { href: vm.link({ view: "clip", clip: vm.data.id(other) }), text: vm.data.model(other) || names[other], title: vm.data.id(other) }),
        vm.h("span.small.muted", { text: shown ? `${shown.label} ${vm.data.shown(shown.key, other)}` : "" }),
        compare && vm.h("a.small", { href: vm.link({ view: "compare", a: side(row), b: side(other), clip: this.id }), text: "compare", "aria-label": `Compare with ${vm.data.id(other)}` })))),
        same.length > MOST_OTHERS && vm.h("p.small.muted", { text: `and ${same.length - MOST_OTHERS} more` }));
    }

    fillFacts() {
      const detail = this.detail, { row } = this, { index } = vm.data, run = vm.data.run(row), fps = vm.data.fps(row);
      if (!detail) return;
      /** @type {[string, any][]} */
      const facts = [
        ["Prompt", vm.data.prompt(row)], ["Prompt from", detail.prompt_source], ["Subject", detail.subject],
        ["Model", vm.data.model(row)], ["Run", run.name], ["", run.label],
        ["Size", detail.size && `${detail.size.join(" × ")} pixels`],
        ["Frames", vm.data.frames(row) && `${vm.data.frames(row)}${fps ? `, ${vm.score(fps)} per second` : ""}${detail.timestamps ? ", uneven times" : ""}`],
        ["Codec", detail.codec], ["Scored in", detail.seconds ? `${vm.fixed(detail.seconds, 1)} s` : null],
        ["SHA-256", detail.sha256 && vm.h("code", { text: `${detail.sha256.slice(0, 12)}…`, title: detail.sha256 })], ["Path", detail.path],
        ...index.tags.map((tag) => /** @type {[string, any]} */ ([tag.name, vm.data.tag(tag.name, row)])),
        ["CAS verdict", detail.probabilities?.map((share, level) => `${LEVELS[level]} ${Math.round(100 * share)} %`).join(", ")],
        ["CAS saliency", detail.saliency.length && detail.saliency.map(({ frame, reason }) => vm.h("button.small", {
          type: "button", text: `frame ${frame}`, title: reason, onclick: () => this.showSaliency(frame) }))],
        ...Object.entries(detail.ratings).map(([name, { mean, each }]) => /** @type {[string, any]} */ ([`Rated: ${name}`,
          `${vm.score(mean)}${each.length > 1 ? ` (${each.map((value) => vm.score(value)).join(", ")})` : ""}`])),
        ...detail.notes.map((note) => /** @type {[string, any]} */ (["Note", note])),
      ];
      this.facts.replaceChildren(vm.h("h3", { text: "Facts" }), vm.h("dl.clip-dl", {},
        facts.filter(([, value]) => value).map(([name, value]) => [vm.h("dt", { text: name }), vm.h("dd", {}, value)])));
    }

    /** @param {number} frame */
    showSaliency(frame) {
      const { player } = this;
      player.pause();
      player.layers = vm.layers.filter((/** @type {string} */ layer) => layer === "saliency" || player.layers.includes(layer));
      player.seek(frame);
    }

    help() {
      const dialog = vm.h("dialog.clip-keys", { "aria-label": "Keys" }, vm.h("h3", { text: "Keys" }),
        vm.h("dl.clip-dl", {}, KEYS.map(([key, text]) => [vm.h("dt", {}, vm.h("kbd", { text: key })), vm.h("dd", { text })])),
        vm.h("button", { type: "button", text: "Close", onclick: () => dialog.close() }));
      return dialog;
    }

    /** @param {KeyboardEvent} event */
    key(event) {
      const target = /** @type {Element} */ (event.target), { player } = this;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (target.closest("input:not([type=range]), textarea, select, [contenteditable]")) return;
      if (event.key === " " && target.closest("button, a, summary")) return;
      if (event.key.startsWith("Arrow") && target.closest("input, .wide")) return;
      if (this.keys.open && event.key !== "?") return;
      const step = (/** @type {number} */ by) => {
        player.pause();
        player.seek(player.frame + by * (event.shiftKey ? STEP : 1));
      };
      const turn = (/** @type {number} */ by) => {
        const list = rows(), position = list.indexOf(this.row), next = list[position < 0 ? 0 : position + by];
        if (next !== undefined) vm.go({ clip: vm.data.id(next) });
      };
      /** @type {Record<string, () => void>} */
      const acts = {
        " ": () => { player.playing ? player.pause() : player.play(); },
        ",": () => step(-1), "<": () => step(-1), ArrowLeft: () => step(-1), ".": () => step(1), ">": () => step(1), ArrowRight: () => step(1),
        j: () => turn(1), k: () => turn(-1),
        l: () => {
          if (player.loop) player.loop = null;
          else if (this.chosen?.frames.length) this.loop(this.chosen);
          else player.loop = [0, player.frames - 1];
        },
        "?": () => { this.keys.open ? this.keys.close() : this.keys.showModal(); },
      };
      const layer = vm.layers[Number(event.key) - 1];
      if (layer) player.layers = vm.layers.filter((/** @type {string} */ name) => player.layers.includes(name) !== (name === layer));
      else if (!acts[event.key]) return;
      acts[event.key]?.();
      event.preventDefault();
    }

    close() {
      this.closed = true;
      clearTimeout(this.timer);
      this.timeline?.destroy();
      this.player.destroy();
    }
  }

  vm.views.push({
    key: "clip",
    title: "",
    available: () => vm.data.n > 0,
    open: (root) => {
      /** @type {ClipPage | null} */
      let page = null;
      let shown = "";
      const show = () => {
        page?.close();
        page = null;
        shown = vm.state.clip;
        const row = vm.data.find(shown);
        if (row >= 0) page = new ClipPage(root, row);
        else root.replaceChildren(vm.h("p.empty", { text: shown ? `There is no clip ${shown} in this report.` : "No clip is chosen." }));
      };
      const key = (/** @type {KeyboardEvent} */ event) => page?.key(event);
      document.addEventListener("keydown", key);
      show();
      return {
        update: (state) => { if (state.clip !== shown) show(); else page?.update(state); },
        close: () => { document.removeEventListener("keydown", key); page?.close(); },
      };
    },
  });
})();
