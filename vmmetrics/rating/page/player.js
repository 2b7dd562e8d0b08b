// A clip of a trial: loaded whole before it is shown, played to its end, and a record of how it was played.

import { h } from "../../viewer/page/core.js";

const READY = 5000, // ms until a clip is shown of which the browser has not said that it can be played
  TRIES = 5,
  PAUSE = 1000; // ms before a clip that was refused is tried again

export class RatedClip {
  /** @param {string} source Address in this page's memory. @param {string} label Caption, "" for none. */
  constructor(source, label) {
    this.source = source;
    this.video = h("video", {
      playsinline: true,
      preload: "auto",
      disablepictureinpicture: true,
      disableremoteplayback: true,
      tabindex: "-1",
      "aria-label": label || null,
      oncontextmenu: (/** @type {Event} */ event) => event.preventDefault(),
    });
    this.video.muted = true;
    this.root = h("figure", this.video, label ? h("figcaption", label) : null);
    this.started = this.waiting = 0;
    /** @type {PlaybackRecord} */
    this.record = {
      ended: false,
      seconds: 0,
      replays: 0,
      frames: 0,
      dropped: 0,
      stalls: 0,
      stalled: 0,
      width: 0,
      height: 0,
    };
    this.video.addEventListener("playing", () => this.resumed());
    this.video.addEventListener("waiting", () => this.stalled());
    this.video.src = source;
  }

  /** The browser lacks data in the middle of the clip. */
  stalled() {
    if (!this.started || this.record.ended || this.waiting) return;
    this.record.stalls += 1;
    this.waiting = performance.now();
  }

  resumed() {
    this.started ||= performance.now();
    if (!this.waiting) return;
    this.record.stalled += (performance.now() - this.waiting) / 1000;
    this.waiting = 0;
  }

  /** Wait until its first frame is there; some browsers (iOS) load nothing before they are asked to play. */
  ready(tries = TRIES) {
    const { video } = this;
    return new Promise((resolve, reject) => {
      video.addEventListener("loadeddata", resolve, { once: true });
      video.addEventListener("error", () => {
        if (--tries <= 0) return reject(new Error(video.error?.message || "this browser does not play it"));
        setTimeout(() => video.load(), PAUSE); // a busy Firefox may refuse a clip at first
      });
      setTimeout(resolve, READY);
      video.load();
    });
  }

  /**
   * Play from the beginning.
   * @returns {Promise<void>} Fulfilled at its end; rejected where it is paused before, and its record begins again.
   */
  async play() {
    const { video, record } = this;
    const before = video.getVideoPlaybackQuality?.();
    if (!record.ended) record.stalls = record.stalled = this.started = this.waiting = 0;
    video.currentTime = 0;
    const end = new Promise((resolve, reject) => {
      video.onended = resolve;
      video.onpause = () => video.ended || reject(new Error("paused"));
      video.onerror = () => reject(new Error("this browser does not play it"));
    });
    await Promise.all([video.play(), end]);
    if (record.ended) {
      record.replays += 1;
      return;
    }
    const quality = video.getVideoPlaybackQuality?.(),
      box = video.getBoundingClientRect();
    Object.assign(record, {
      ended: true,
      seconds: (performance.now() - this.started) / 1000,
      frames: (quality?.totalVideoFrames ?? 0) - (before?.totalVideoFrames ?? 0),
      dropped: (quality?.droppedVideoFrames ?? 0) - (before?.droppedVideoFrames ?? 0),
      width: box.width,
      height: box.height,
    });
  }

  close() {
    this.video.removeAttribute("src");
    this.video.load();
    URL.revokeObjectURL(this.source);
  }
}

/** @returns {Promise<number>} Refreshes of the screen in a second, by the shorter steps: a busy page leaves some out. */
export const refreshRate = () =>
  new Promise((resolve) => {
    /** @type {number[]} */
    const moments = [];
    const end = () => {
      clearTimeout(late);
      const steps = moments.slice(1).map((at, number) => at - moments[number]);
      steps.sort((a, b) => a - b);
      resolve(steps.length ? Math.round(1000 / steps[steps.length >> 2]) : 0);
    };
    const late = setTimeout(end, 3000); // a page out of sight is not drawn
    const next = (/** @type {number} */ moment) => {
      moments.push(moment);
      if (moments.length > 40) end();
      else requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
