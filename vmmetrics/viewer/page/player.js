// Frame-exact player of one clip: its picture and its layers are drawn together, for the frame that is presented.

import { h, perFrame } from "./core.js";
import { data } from "./data.js";
import { eventAt } from "./events.js";
import { FrameTimes } from "./frametimes.js";
import { drawOverlay } from "./layers.js";
import { decodeOverlay } from "./overlay.js";
import { state } from "./state.js";
import { transport } from "./transport.js";

const INTO_FRAME = 0.02; // s behind a frame's start that a seek aims at: past rounding, within one frame of the file
const SETTLE = 300; // ms after "seeked" in which a browser that presents the sought frame has said so
const MOST_LATE = 3; // callbacks in a row that are left out
const REFRESH = 17; // ms between two refreshes of the screen: a video moves on so much before its next frame is due
const FIRST = 3000; // ms after the first data in which it has presented the first frame
const SLOWEST = 0.1,
  FASTEST = 2;
const TRANSCODE = "To make a report with videos that play everywhere: vmmetrics report --media transcode";

/** @implements {Player} */
export class FramePlayer {
  /** @param {number} row @param {{ layers?: string[], controls?: boolean, remedy?: string }} options */
  constructor(row, options) {
    this.row = row;
    this.remedy = options.remedy ?? TRANSCODE;
    this.times = new FrameTimes(data.frames(row), data.fps(row));
    this.frame = 0;
    this.playing = false;
    /** @type {ClipDetail | null} */
    this.detail = null;
    /** @type {any} The decoded overlay. */
    this.overlay = null;
    this._layers = options.layers ?? [...state.layers];
    /** @type {[number, number] | null} */
    this._loop = null;
    /** @type {ClipEvent | null} */
    this._highlight = null;
    /** @type {ClipEvent | null} */
    this.chosen = null;
    this._rate = 1;
    this.listeners = new Set();
    /** Seconds in the file at which frame 0 stands. */
    this.offset = 0;
    this.ready = false;
    /** Frame that a seek in flight is for, and the one to seek after it; -1 for none. */
    this.seeking = this.next = -1;
    /** When the last seek was asked for, the frame presented since then, or -1, and late callbacks in a row. */
    this.asked = 0;
    this.heard = -1;
    this.late = 0;
    /** @type {(() => void)[]} */
    this.waiting = [];
    this.timer = 0;
    this.wrapper = 0;
    this.destroyed = this.failed = false;
    /** True where requestVideoFrameCallback tells the frame, once it has, and if that is past the last one. */
    this.exact = this.presented = this.past = this.polling = false;

    this.video = h("video", {
      playsinline: true,
      preload: "auto",
      "aria-hidden": "true",
      disablepictureinpicture: true,
    });
    this.video.muted = true;
    this.canvas = h("canvas", { role: "img" });
    this.stage = h("div.player-stage", this.video, this.canvas);
    this.notes = h("div.player-notes", { role: "status" });
    this.root = h("div.player", this.stage, this.notes);
    if (options.controls) this.root.append(transport(this));
    this.draw = perFrame(() => this.paint());
    this.resized = new ResizeObserver(() => {
      this.size();
      this.paint();
    });
    this.resized.observe(this.stage);
    this.load();
  }

  get frames() {
    return this.times.frames;
  }

  /** @param {number} frame */
  timeOf(frame) {
    return this.times.of(frame);
  }

  /** @param {number} seconds */
  frameAt(seconds) {
    return this.times.at(seconds);
  }

  // Loading.

  load() {
    const { video, row } = this;
    this.shape(1, 1);
    data.detail(row).then(
      (detail) => {
        if (this.destroyed) return;
        this.detail = detail;
        if (detail.timestamps) this.times = new FrameTimes(this.frames, data.fps(row), detail.timestamps);
        const size = detail.size ?? detail.pixels;
        if (size && !video.videoWidth) this.shape(...size);
        this.draw();
      },
      (error) => this.say(error.message),
    );
    data.overlay(row).then(
      (stored) => {
        if (this.destroyed || !stored) return;
        const { overlay, error } = decodeOverlay(stored);
        if (error) this.say(`The stored overlay is damaged: ${error}. Delete it, and write the report again.`);
        this.overlay = overlay;
        this.stage.classList.toggle("drawn", Boolean(overlay));
        this.draw();
      },
      (error) => this.say(error.message),
    );
    const media = data.media(row),
      poster = data.poster(row);
    if (poster) video.poster = poster;
    if (!media.url) return this.fail(`This clip cannot be played: ${media.reason}.`);
    video.addEventListener("error", () => {
      const codec = this.detail?.codec ? ` (${this.detail.codec})` : "",
        message = video.error?.message;
      const place = media.url.startsWith("data:") ? "in this page" : media.url;
      this.fail(
        `The video is not there any more, or this browser does not play its format${codec}: ${place}` +
          `${message ? `; the browser says: ${message}` : ""}. ${this.remedy}`,
      );
    });
    video.addEventListener("loadedmetadata", () => {
      this.shape(video.videoWidth, video.videoHeight);
      if (!data.frames(row) && Number.isFinite(video.duration)) {
        this.times = new FrameTimes(Math.round(video.duration / this.times.length(0)), data.fps(row));
      }
      if (video.duration > 0 && !(video.seekable.length && video.seekable.end(video.seekable.length - 1) > 0))
        this.say(
          "This server does not answer range requests, so the video cannot be sought; open index.html from the disk, " +
            "or use vmmetrics report --serve.",
        );
    });
    video.addEventListener("loadeddata", () => {
      if (!this.exact) this.calibrate(0);
      else setTimeout(() => this.calibrate(0), FIRST);
    });
    video.addEventListener("seeked", () => {
      clearTimeout(this.timer);
      if (!this.exact) this.present(this.shownAt(video.currentTime));
      else if (this.seeking >= 0 && this.heard === this.seeking) this.arrive(this.heard);
      else
        this.timer = setTimeout(() => {
          if (this.seeking >= 0 && !video.seeking)
            this.arrive(this.heard >= 0 ? this.heard : this.shownAt(video.currentTime));
        }, SETTLE);
    });
    video.addEventListener("ended", () => {
      if (this.playing) this.wrap();
    });
    video.src = media.url;
    this.exact = "requestVideoFrameCallback" in video;
    if (this.exact) this.listen();
  }

  /** Hear of every frame that the browser presents. */
  listen() {
    this.video.requestVideoFrameCallback((/** @type {number} */ _, /** @type {VideoFrameCallbackMetadata} */ data) => {
      if (this.destroyed) return;
      if (!this.ready) this.calibrate(data.mediaTime);
      const seconds = data.mediaTime - this.offset,
        frame = this.frameAt(seconds),
        length = this.times.length(frame);
      this.presented = true;
      this.past = seconds - this.timeOf(this.frames - 1) > 0.75 * this.times.length(this.frames - 1);
      if (data.presentationTime >= this.asked) this.heard = frame;
      // So late that the video holds another picture by now: the next callback is about that one.
      const late =
        this.playing &&
        performance.now() - data.expectedDisplayTime > Math.max(2, (1000 * length) / this._rate - REFRESH);
      this.late = late ? this.late + 1 : 0;
      if (!late || this.late > MOST_LATE) this.present(frame);
      this.listen();
    });
  }

  /**
   * Where requestVideoFrameCallback is missing: the frame whose time has come.
   * @param {number} seconds of the file
   */
  shownAt(seconds) {
    const frame = this.frameAt(seconds - this.offset);
    return frame > 0 && this.timeOf(frame) > seconds - this.offset + 0.002 ? frame - 1 : frame;
  }

  /** Start seeking and playing. @param {number} seconds in the file of the first frame */
  calibrate(seconds) {
    if (this.ready || this.destroyed) return;
    this.ready = true;
    this.offset = seconds;
    this.stage.classList.add("ready");
    if (this.next < 0 && !this.playing) this.present(0);
    this.pump();
    if (this.playing && this.seeking < 0) this.start();
  }

  /** @param {number} width @param {number} height */
  shape(width, height) {
    this.stage.style.setProperty("--ratio", String(width / height));
    this.stage.style.aspectRatio = `${width} / ${height}`;
  }

  /** @param {string} text */
  say(text) {
    if (this.destroyed) return;
    this.notes.append(h("p.note", { text }));
  }

  /** There is no picture: say why, and show what was seen on an empty canvas. @param {string} text */
  fail(text) {
    if (this.failed || this.destroyed) return;
    this.failed = true;
    this.say(text);
    this.stage.classList.add("failed");
    const poster = data.poster(this.row);
    if (poster) {
      this.stage.prepend(h("img.player-poster", { src: poster, alt: "" }));
      this.notes.prepend(h("img.player-thumb", { src: poster, alt: "Poster of the clip" }));
    }
    this.video.removeAttribute("poster");
    this.arrive(this.next >= 0 ? this.next : this.seeking >= 0 ? this.seeking : this.frame);
  }

  // Seeking and playing.

  /** @param {number} frame @returns {Promise<void>} */
  seek(frame) {
    const target = this.times.clamp(frame);
    clearTimeout(this.wrapper);
    if (this.failed) {
      this.show(target);
      if (this.playing) this.tick();
      return Promise.resolve();
    }
    if (this.seeking < 0 && this.presented && !this.playing && target === this.frame) return Promise.resolve();
    this.next = target;
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.pump();
    });
  }

  pump() {
    if (!this.ready || this.failed || this.seeking >= 0 || this.next < 0) return;
    [this.seeking, this.next, this.heard, this.asked] = [this.next, -1, -1, performance.now()];
    this.video.pause(); // goes on when the frame is there
    this.video.currentTime =
      this.offset + this.timeOf(this.seeking) + Math.min(INTO_FRAME, this.times.length(this.seeking) / 2);
  }

  /** The browser shows a frame. @param {number} frame */
  present(frame) {
    if (this.seeking >= 0) {
      if (!this.exact || (frame === this.seeking && frame === this.heard && !this.video.seeking)) this.arrive(frame);
      return;
    }
    if (this.playing && this._loop && frame > this._loop[1]) return this.wrap(); // the last one stays on the canvas
    this.show(frame);
    if (this.playing) this.bound(frame);
  }

  /** The seek in flight has ended. @param {number} frame that is shown */
  arrive(frame) {
    clearTimeout(this.timer);
    this.seeking = -1;
    this.show(frame);
    if (this.next >= 0 && !this.failed) return this.pump();
    this.next = -1;
    for (const resolve of this.waiting.splice(0)) resolve();
    if (this.playing) this.start();
  }

  /** @param {number} frame */
  show(frame) {
    this.frame = frame;
    this.paint();
    for (const listener of this.listeners) listener(frame);
  }

  /** End or repeat at the last frame of the loop or clip. @param {number} frame */
  bound(frame) {
    const last = this._loop?.[1] ?? this.frames - 1;
    clearTimeout(this.wrapper);
    if (frame > last || this.past) return this.wrap();
    if (frame === last) this.wrapper = setTimeout(() => this.wrap(), (1000 * this.times.length(frame)) / this._rate);
  }

  wrap() {
    if (!this.playing || this.seeking >= 0) return;
    if (!this._loop) {
      this.pause();
      if (this.past) this.seek(this.frames - 1);
      return;
    }
    this.seek(this._loop[0]);
  }

  async play() {
    const [first, last] = this._loop ?? [0, this.frames - 1];
    if (this.playing) return;
    this.playing = true;
    this.changed();
    if (this.frame < first || this.frame >= last) await this.seek(first);
    else if (this.failed || (this.ready && this.seeking < 0)) await this.start();
  }

  async start() {
    if (this.failed) return this.tick();
    this.bound(this.frame);
    if (!this.exact && !this.polling) this.poll();
    try {
      await this.video.play();
    } catch (error) {
      if (/** @type {Error} */ (error).name === "AbortError" || this.failed) return; // paused meanwhile
      this.pause();
      this.say(`The browser does not play the video: ${/** @type {Error} */ (error).message}`);
    }
  }

  /** Without a video: a clock. */
  tick() {
    clearTimeout(this.wrapper);
    this.wrapper = setTimeout(
      () => {
        const [first, last] = this._loop ?? [0, this.frames - 1];
        if (this.frame < last) this.show(this.frame + 1);
        else if (this._loop) this.show(first);
        else return this.pause();
        this.tick();
      },
      (1000 * this.times.length(this.frame)) / this._rate,
    );
  }

  /** Without requestVideoFrameCallback: the playing time, read at every refresh of the screen. */
  poll() {
    this.polling = true;
    requestAnimationFrame(() => {
      this.polling = false;
      if (!this.playing || this.destroyed) return;
      if (this.seeking < 0) {
        const frame = this.shownAt(this.video.currentTime);
        if (frame !== this.frame) this.present(frame);
      }
      this.poll();
    });
  }

  pause() {
    clearTimeout(this.wrapper);
    if (!this.playing) return;
    this.playing = false;
    this.video.pause();
    this.changed();
  }

  get rate() {
    return this._rate;
  }
  set rate(rate) {
    this._rate = Math.min(FASTEST, Math.max(SLOWEST, rate));
    this.video.defaultPlaybackRate = this.video.playbackRate = this._rate;
    this.changed();
  }

  get muted() {
    return this.video.muted;
  }
  set muted(muted) {
    this.video.muted = muted;
  }

  get loop() {
    return this._loop;
  }
  set loop(loop) {
    this._loop = loop && /** @type {[number, number]} */ (loop.map((frame) => this.times.clamp(frame)));
    this.changed();
  }

  get layers() {
    return this._layers;
  }
  set layers(layers) {
    this._layers = layers;
    this.draw();
    this.changed();
  }

  get highlight() {
    return this._highlight;
  }
  set highlight(event) {
    this._highlight = event;
    this.draw();
  }

  /** Tell controls that playing, rate, loop or layers have changed. */
  changed() {
    this.root.dispatchEvent(new CustomEvent("playerchange"));
  }

  /** @param {(frame: number) => void} listener */
  onFrame(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  // Drawing.

  size() {
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.stage.clientWidth * ratio));
    this.canvas.height = Math.max(1, Math.round(this.stage.clientHeight * ratio));
  }

  /** Draw the picture that the video shows and, over it in the same step, the layers of its frame. */
  paint() {
    if (this.destroyed) return;
    const { canvas, video } = this,
      context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (this.ready && this.exact && !this.failed && video.readyState >= 2) {
      context.imageSmoothingQuality = "high";
      context.drawImage(video, 0, 0, canvas.width, canvas.height);
    }
    canvas.setAttribute("aria-label", `Frame ${this.frame} of ${data.name(this.row)}`);
    const lit =
      [this._highlight, this.chosen].find(
        (event) => event && ((event === this._highlight && !this.playing) || eventAt(event, this.frame)),
      ) ?? null;
    drawOverlay(context, this.overlay, this.detail, this.frame, { layers: this._layers, highlight: lit });
  }

  destroy() {
    this.pause();
    this.destroyed = true;
    clearTimeout(this.timer);
    clearTimeout(this.wrapper);
    this.resized.disconnect();
    this.listeners.clear();
    for (const resolve of this.waiting.splice(0)) resolve();
    this.video.removeAttribute("src");
    this.video.load();
    this.root.remove();
  }
}
