// Two clips on one transport: side by side, or one over the other with a line between them.

import { h } from "./core.js";
import { onKeys, sliderKeys } from "./keys.js";

const DRIFT = 0.75; // frames of the follower by which it may be off while playing
const STEP = 2; // percent that keys move the line by

/**
 * Two players with one clock, that of the longer clip; the other shows its nearest frame, and holds its last one.
 * Usable by a transport as if it were one player.
 */
export class Duet {
  /** @param {Player} a @param {Player} b */
  constructor(a, b) {
    this.a = a;
    this.b = b;
    const [endOfA, endOfB] = [a, b].map((player) => player.timeOf(player.frames - 1));
    const aLeads = endOfA > endOfB || (endOfA === endOfB && a.frames >= b.frames);
    this.master = aLeads ? a : b;
    this.follower = aLeads ? b : a;
    this.root = this.master.root;
    /** Frame of the master that is being sought, or -1. */
    this.target = -1;
    this.stop = this.master.onFrame((frame) => this.follow(frame));
    this.changed = () => {
      if (!this.master.playing) this.settle();
    };
    this.root.addEventListener("playerchange", this.changed);
  }

  get frames() {
    return this.master.frames;
  }
  get frame() {
    return this.master.frame;
  }
  get playing() {
    return this.master.playing;
  }
  get row() {
    return this.master.row;
  }
  /** @param {number} frame */
  timeOf(frame) {
    return this.master.timeOf(frame);
  }
  /** @param {number} seconds */
  frameAt(seconds) {
    return this.master.frameAt(seconds);
  }
  /** @param {(frame: number) => void} listener */
  onFrame(listener) {
    return this.master.onFrame(listener);
  }

  /** @param {number} frame of the master @returns {number} of the follower */
  beside(frame) {
    return this.follower.frameAt(this.master.timeOf(frame));
  }

  /** @param {number} frame of the master @returns {Promise<void>} */
  async seek(frame) {
    const target = (this.target = Math.min(this.frames - 1, Math.max(0, frame)));
    await Promise.all([this.master.seek(target), this.follower.seek(this.beside(target))]);
    if (this.target === target) this.target = -1;
  }

  /** @param {number} by Frames from the one that is shown or sought. @returns {Promise<void>} */
  step(by) {
    this.pause();
    return this.seek((this.target < 0 ? this.frame : this.target) + by);
  }

  /** @param {number} frame of clip a @returns {Promise<void>} */
  async seekA(frame) {
    const seconds = this.a.timeOf(frame);
    await Promise.all([this.a.seek(frame), this.b.seek(this.b.frameAt(seconds))]);
  }

  async play() {
    const end = this.loop?.[1] ?? this.frames - 1;
    if (this.frame >= end) await this.seek(this.loop?.[0] ?? 0);
    this.follower.rate = this.master.rate;
    await Promise.all([this.master.play(), this.atEnd(this.frame) ? null : this.follower.play()]);
  }

  pause() {
    this.master.pause();
  }

  /** @param {number} frame of the master @returns {boolean} True where the follower holds its last frame. */
  atEnd(frame) {
    return this.master.timeOf(frame) >= this.follower.timeOf(this.follower.frames - 1);
  }

  /** The master shows a frame while playing. @param {number} frame */
  follow(frame) {
    const { follower, master } = this;
    if (!master.playing) return;
    if (this.atEnd(frame)) {
      if (follower.frame === follower.frames - 1) return;
      follower.pause();
      follower.seek(follower.frames - 1);
      return;
    }
    if (Math.abs(follower.frame - this.beside(frame)) > DRIFT + this.lag()) follower.seek(this.beside(frame));
    if (!follower.playing) follower.play();
  }

  /** @returns {number} Frames of the follower that pass between two of the master. */
  lag() {
    const step = this.master.timeOf(1) - this.master.timeOf(0),
      own = this.follower.timeOf(1) - this.follower.timeOf(0);
    return own > 0 ? Math.max(0, step / own - 1) : 0;
  }

  /** The master stopped: so does the follower, at the same time. */
  settle() {
    if (!this.follower.playing) return;
    this.follower.pause();
    this.follower.seek(this.beside(this.master.frame));
  }

  get rate() {
    return this.master.rate;
  }
  set rate(rate) {
    this.master.rate = this.follower.rate = rate;
  }
  get muted() {
    return this.master.muted;
  }
  set muted(muted) {
    this.master.muted = this.follower.muted = muted;
  }
  get loop() {
    return this.master.loop;
  }
  set loop(loop) {
    this.master.loop = loop;
  }
  get layers() {
    return this.master.layers;
  }
  set layers(layers) {
    this.follower.layers = layers;
    this.master.layers = layers;
  }
  get highlight() {
    return this.master.highlight;
  }
  set highlight(event) {
    this.master.highlight = event;
  }

  destroy() {
    this.stop();
    this.root.removeEventListener("playerchange", this.changed);
    this.a.destroy();
    this.b.destroy();
  }
}

/**
 * Make the line between two clips that lie over one another.
 * @param {HTMLElement} box Element that covers both; gets the variable --wipe.
 * @param {number} start Percent from the left.
 * @param {(percent: number) => void} moved Called when the line was let go.
 * @returns {{ root: HTMLElement, set(percent: number): void }}
 */
export const wipeLine = (box, start, moved) => {
  let percent = start;
  const root = h("div.wipe-line", {
    role: "slider",
    tabindex: 0,
    "aria-label": "Line between A and B",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
  });
  const set = (/** @type {number} */ value) => {
    percent = Math.min(100, Math.max(0, Math.round(value * 10) / 10));
    box.style.setProperty("--wipe", `${percent}%`);
    root.setAttribute("aria-valuenow", String(percent));
    root.setAttribute("aria-valuetext", `A up to ${percent} %`);
  };
  const toPointer = (/** @type {PointerEvent} */ event) => {
    const { left, width } = box.getBoundingClientRect();
    set((100 * (event.clientX - left)) / width);
  };
  root.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    root.setPointerCapture(event.pointerId);
    root.focus();
    event.preventDefault();
  });
  root.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (root.hasPointerCapture(event.pointerId)) toPointer(event);
  });
  root.addEventListener("pointerup", () => moved(percent));
  onKeys(
    root,
    sliderKeys(STEP, (by) => {
      set(percent + by);
      moved(percent);
    }),
  );
  set(start);
  return { root, set };
};
