// Marks of when and where something is wrong in a clip: by pointer, or by keys alone.

import { button, fixed, h } from "../../viewer/page/core.js";

const STEP = 1 / 25, // seconds of a frame where the browser does not say when frames are shown
  NUDGE = 0.05, // of the frame's side, by an arrow key
  LEAST = 0.02; // of the frame's side: less is a click, not a box
/** @type {MarkBox} */
const MIDDLE = [0.35, 0.35, 0.65, 0.65];
/** @type {{ kind: number | null, begin: number | null, end: number | null, box: MarkBox | null }} */
const EMPTY = { kind: null, begin: null, end: null, box: null };

const share = (/** @type {number} */ value) => Math.min(1, Math.max(0, value));
const rounded = (/** @type {number} */ value) => Math.round(value * 1e4) / 1e4;

/** A box or bar over its parent. @param {string} classes @param {Record<string, number>} sides Shares of the parent. */
function placed(classes, sides) {
  const made = h(classes);
  for (const [side, value] of Object.entries(sides)) made.style[side] = `${100 * value}%`;
  return made;
}

export class MarkField {
  /**
   * @param {import("./player.js").RatedClip} clip The clip, loaded and not yet played.
   * @param {[number, string][]} choices Kinds of marks from 1, and 0: nothing is wrong.
   * @param {string} keys Key of each choice.
   * @param {string} question
   * @param {string} asked What an attention check asks in its place, for a kind alone; "" for none.
   * @param {number} most Marks of a clip.
   * @param {Record<string, string>} texts
   * @param {(value: number | null) => void} changed Told the answer: the kind of the first mark, or 0; null for none yet.
   */
  constructor(clip, choices, keys, question, asked, most, texts, changed) {
    this.clip = clip;
    this.choices = choices;
    this.asked = asked;
    this.most = most;
    this.texts = texts;
    this.changed = changed;
    this.open = false;
    this.step = STEP;
    /** @type {RatedMark[]} */
    this.marks = [];
    this.nothing = false;
    this.draft = { ...EMPTY };
    const { video } = clip;
    this.area = h("div.area", { role: "application", "aria-label": texts.mark_box, hidden: true, tabindex: "0" });
    this.area.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => this.drag(event));
    this.area.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.nudge(event));
    clip.root.append(this.area);
    new ResizeObserver(() => this.fit()).observe(video);
    this.time = h("input", { type: "range", min: 0, value: 0, "aria-label": texts.mark_time });
    this.time.addEventListener("input", () => this.seek(Number(this.time.value)));
    this.strip = h("div.strip");
    this.now = h("output");
    this.state = h("output");
    this.missing = h("output");
    this.list = h("ul.marks");
    this.radios = choices.map(([value]) =>
      h("input", { type: "radio", name: "kind", value, onchange: () => this.choose(value) }),
    );
    /** @type {Record<string, () => void>} What keys do. */
    this.acts = {
      ",": () => this.seek(this.frame - 1),
      ".": () => this.seek(this.frame + 1),
      b: () => this.put("begin", this.frame * this.step),
      e: () => this.put("end", Math.min((this.frame + 1) * this.step, video.duration)),
      w: () => this.put("box", [0, 0, 1, 1]),
      a: () => this.add(),
      Backspace: () => this.undo(),
    };
    choices.forEach((_, at) => (this.acts[keys[at]] = () => this.radios[at].disabled || this.radios[at].click()));
    const press = (/** @type {string} */ text, /** @type {string} */ key) => button(text, () => this.key(key));
    this.adds = press(texts.mark_add, "a");
    this.undoes = press(texts.mark_undo, "Backspace");
    const [back, on, begin, end] = [
      [texts.mark_back, ","],
      [texts.mark_on, "."],
      [texts.mark_begin, "b"],
      [texts.mark_end, "e"],
    ].map(([text, key]) => press(text, key));
    this.later = [back, on, begin, end, this.time];
    for (const control of this.later) control.disabled = true;
    /** What stands below the clip, beside the button that plays it. */
    this.transport = h("div.row", back, on, this.now, h("div.timeline", this.time, this.strip), begin, end, this.state);
    this.root = h(
      "fieldset",
      { disabled: true },
      h("legend", asked || question),
      h("div.row", press(texts.mark_whole, "w"), h("span", texts.mark_box)),
      h(
        "div.choices",
        choices.map(([, text], at) => h("label", this.radios[at], text)),
      ),
      h("div.row", this.adds, this.undoes, this.missing),
      this.list,
    );
    /** @type {number[]} */
    const moments = [];
    const shown = (/** @type {number} */ _, /** @type {VideoFrameCallbackMetadata} */ frame) => {
      moments.push(frame.mediaTime);
      const steps = moments.slice(1).map((at, number) => at - moments[number]);
      const ahead = steps.filter((seconds) => seconds > 0.001).sort((a, b) => a - b);
      if (ahead.length > 2 && !this.open) this.step = ahead[ahead.length >> 2]; // a busy page leaves frames out
      this.tick();
      video.requestVideoFrameCallback(shown);
    };
    video.requestVideoFrameCallback?.(shown);
    for (const name of ["timeupdate", "seeked"]) video.addEventListener(name, () => this.tick());
  }

  /** The clip was played to its end: marks may be made. */
  start() {
    if (this.open) return;
    this.open = true;
    this.time.max = this.frames - 1;
    this.root.disabled = this.area.hidden = false;
    for (const control of this.later) control.disabled = false;
    this.fit();
    this.draw();
    this.area.focus({ preventScroll: true });
  }

  get frames() {
    return Math.max(1, Math.round(this.clip.video.duration / this.step));
  }

  /** Number of the frame that is shown. */
  get frame() {
    return Math.min(this.frames - 1, Math.floor(this.clip.video.currentTime / this.step + 0.01));
  }

  /** The mark that is being made, if it lacks nothing. @returns {RatedMark | null} */
  get made() {
    const { kind, begin, end, box } = this.draft;
    return kind && begin !== null && end !== null && box ? { kind, begin, end, box } : null;
  }

  /** All marks, with the one that is being made if it lacks nothing. */
  get all() {
    return this.made ? [...this.marks, this.made] : this.marks;
  }

  toggle() {
    const { video, record } = this.clip;
    if (!video.paused) return video.pause();
    record.replays += Number(video.ended);
    video.play().catch(() => {}); // the button is pressed again
  }

  /** @param {number} frame */
  seek(frame) {
    this.clip.video.pause();
    this.clip.video.currentTime = (Math.min(this.frames - 1, Math.max(0, frame)) + 0.5) * this.step;
  }

  /** @param {string} key @returns {boolean} True if it does something. */
  key(key) {
    const act = this.open && this.acts[key];
    if (act) act();
    return Boolean(act);
  }

  /** @param {"begin" | "end" | "box"} part @param {any} value */
  put(part, value) {
    const { draft } = this;
    /** @type {any} */ (draft)[part] = part === "box" ? value.map(rounded) : rounded(value);
    if (draft.begin !== null && draft.end !== null && draft.begin >= draft.end)
      draft[part === "begin" ? "end" : "begin"] = null;
    this.nothing = false;
    this.draw();
  }

  /** @param {number} kind */
  choose(kind) {
    this.nothing = kind === 0;
    if (this.nothing) this.draft = { ...EMPTY };
    else this.draft.kind = kind;
    this.draw();
  }

  add() {
    if (!this.made) return;
    this.marks = this.all;
    this.draft = { ...EMPTY };
    this.draw();
  }

  /** True if a mark is being made. */
  get begun() {
    return Object.values(this.draft).some((value) => value !== null);
  }

  /** Leave out the mark that is being made, or the last. */
  undo() {
    if (!this.begun) this.marks = this.marks.slice(0, -1);
    this.draft = { ...EMPTY };
    this.draw();
  }

  /** Lay the area over the frame: the video's element may be wider, or higher. */
  fit() {
    const { video } = this.clip;
    const scale = Math.min(video.clientWidth / video.videoWidth, video.clientHeight / video.videoHeight) || 0;
    const width = video.videoWidth * scale,
      height = video.videoHeight * scale;
    Object.assign(this.area.style, {
      left: `${video.offsetLeft + (video.clientWidth - width) / 2}px`,
      top: `${video.offsetTop + (video.clientHeight - height) / 2}px`,
      width: `${width}px`,
      height: `${height}px`,
    });
  }

  /** Draw a box with a pointer. @param {PointerEvent} event */
  drag(event) {
    event.preventDefault();
    this.area.focus({ preventScroll: true });
    this.area.setPointerCapture(event.pointerId);
    const frame = this.area.getBoundingClientRect();
    const at = (/** @type {PointerEvent} */ { clientX, clientY }) => [
      share((clientX - frame.left) / frame.width),
      share((clientY - frame.top) / frame.height),
    ];
    const [x, y] = at(event);
    const move = (/** @type {PointerEvent} */ moved) => {
      const [right, bottom] = at(moved);
      if (Math.min(Math.abs(right - x), Math.abs(bottom - y)) < LEAST) return;
      this.put("box", [Math.min(x, right), Math.min(y, bottom), Math.max(x, right), Math.max(y, bottom)]);
    };
    const end = () => this.area.removeEventListener("pointermove", move);
    this.area.addEventListener("pointermove", move);
    for (const name of ["pointerup", "pointercancel"]) this.area.addEventListener(name, end, { once: true });
  }

  /** Move the box by an arrow key; with shift, its right or lower side. @param {KeyboardEvent} event */
  nudge(event) {
    const [x, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    if (!(x || y) || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    let [left, top, right, bottom] = this.draft.box ?? MIDDLE;
    if (event.shiftKey) {
      right = Math.min(1, Math.max(left + NUDGE, right + x * NUDGE));
      bottom = Math.min(1, Math.max(top + NUDGE, bottom + y * NUDGE));
    } else if (this.draft.box) {
      const right_by = Math.min(1 - right, Math.max(-left, x * NUDGE)),
        down_by = Math.min(1 - bottom, Math.max(-top, y * NUDGE));
      [left, right, top, bottom] = [left + right_by, right + right_by, top + down_by, bottom + down_by];
    }
    this.put("box", [left, top, right, bottom]);
  }

  /** @param {{ begin: number | null, end: number | null }} mark */
  span({ begin, end }) {
    const text = (/** @type {number | null} */ at) => (at === null ? "…" : fixed(at, 2));
    return `${text(begin)}–${text(end)}`;
  }

  /** Show where the clip is. */
  tick() {
    if (!this.open) return;
    const { currentTime } = this.clip.video;
    this.time.value = this.frame;
    this.now.textContent = `${fixed(currentTime, 2)} s`;
    this.time.setAttribute("aria-valuetext", this.now.textContent);
    const box = (/** @type {string} */ classes, /** @type {MarkBox} */ [left, top, right, bottom]) =>
      placed(classes, { left, top, width: right - left, height: bottom - top });
    const shown = this.marks.filter(({ begin, end }) => begin <= currentTime && currentTime < end);
    this.area.replaceChildren(
      ...shown.map((mark) => box("div.box", mark.box)),
      ...(this.draft.box ? [box("div.box.draft", this.draft.box)] : []),
    );
  }

  /** Show the marks, and tell the answer. */
  draw() {
    const { draft, made, all, texts } = this;
    const { duration } = this.clip.video,
      begin = draft.begin ?? draft.end,
      end = draft.end ?? draft.begin;
    const bar = (/** @type {string} */ classes, /** @type {number} */ from, /** @type {number} */ to) =>
      placed(classes, { left: from / duration, width: (to - from) / duration });
    this.strip.replaceChildren(
      ...this.marks.map((mark) => bar("div.bar", mark.begin, mark.end)),
      ...(begin !== null && end !== null ? [bar("div.bar.draft", begin, end)] : []),
    );
    const name = (/** @type {number} */ kind) => this.choices.find(([value]) => value === kind)?.[1] ?? "";
    this.list.replaceChildren(...this.marks.map((mark) => h("li", `${this.span(mark)} s · ${name(mark.kind)}`)));
    this.radios.forEach((radio, at) => {
      const [value] = this.choices[at];
      radio.checked = value === (this.nothing ? 0 : draft.kind);
      radio.disabled = value === 0 ? this.marks.length > 0 : this.marks.length >= this.most;
    });
    this.adds.disabled = !made;
    this.undoes.disabled = !this.begun && !this.marks.length;
    this.state.textContent = begin === null ? "" : this.span(draft);
    const lacks = this.begun && !made;
    const parts = Object.entries(draft).flatMap(([part, value]) => (value === null ? texts[`mark_lacks_${part}`] : []));
    const alone = this.asked && !this.marks.length ? draft.kind : null;
    this.missing.textContent = lacks && alone === null ? texts.mark_missing.replace("{parts}", parts.join(", ")) : "";
    if (lacks) this.changed(alone);
    else this.changed(all.length ? all[0].kind : this.nothing ? 0 : null);
    this.tick();
  }
}
