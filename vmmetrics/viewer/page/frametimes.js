// When the frames of a clip are shown.

const USUAL_FPS = 24;

/** Seconds of the frames of a clip from the first one. */
export class FrameTimes {
  /**
   * @param {number} frames
   * @param {number} fps 0 where not known.
   * @param {number[] | null} [timestamps] Where frames are uneven.
   */
  constructor(frames, fps, timestamps = null) {
    this.frames = Math.max(1, frames);
    this.usual = 1 / (fps || USUAL_FPS);
    this.seconds = Float64Array.from({ length: this.frames }, (_, frame) => timestamps?.[frame] ?? frame * this.usual);
  }

  /** @param {number} frame @returns {number} A whole frame of the clip. */
  clamp(frame) {
    return Math.min(this.frames - 1, Math.max(0, Math.round(frame) || 0));
  }

  /** @param {number} frame */
  of(frame) {
    return this.seconds[this.clamp(frame)];
  }

  /** @param {number} frame @returns {number} Seconds that it is shown for. */
  length(frame) {
    const [before, time, after] = [frame - 1, frame, frame + 1].map((index) => this.seconds[index]);
    return (after ?? NaN) - time || time - before || this.usual;
  }

  /** @param {number} seconds @returns {number} The frame that is nearest in time. */
  at(seconds) {
    let [low, high] = [0, this.frames - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.seconds[middle] + this.seconds[middle + 1]) / 2 < seconds) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
