// Stored overlays (docs/run-directory.md, "Overlays"), decoded and checked as vmmetrics/scoring/show/overlay.py does.

const FORMAT = 1,
  UNIT = 0.25,
  SHARE = 100,
  MOST_FRAMES = 100_000,
  MOST_SIDE = 16_384;
const JOINTS = 17;
/** Pixels beyond which nothing is drawn. */
export const FAR = 2 ** 24;

/**
 * @typedef {object} OverlayObject
 * @property {number} id
 * @property {string} label
 * @property {string} present
 * @property {string} occluded
 * @property {string | null} left
 * @property {Int32Array[][]} outlines Rings per frame: x and y of points in map pixels.
 *
 * @typedef {{ object: number, points: { visible: string, xy: Float64Array }[] }} OverlayTracks In clip pixels.
 * @typedef {{ joints: Float64Array, scores: Float64Array, box: Float64Array } | null} OverlayPose
 *
 * @typedef {object} Overlay
 * @property {number} frames
 * @property {number[]} size
 * @property {number[]} scale
 * @property {OverlayObject[]} objects
 * @property {OverlayTracks[]} tracks
 * @property {OverlayPose[][]} people
 */

/** @param {boolean} holds @param {string} text */
function check(holds, text) {
  if (!holds) throw new Error(text);
}

/** @param {any} value @param {string} name @returns {any[]} */
function list(value, name) {
  check(Array.isArray(value), `${name}: expected a list`);
  return value;
}

/** @param {any} value @param {string} name @returns {number[]} */
function numbers(value, name) {
  check(list(value, name).every(Number.isFinite), `${name}: expected numbers`);
  return value;
}

/** @param {any} value @param {number} frames @returns {string} */
function marks(value, frames) {
  check(
    typeof value === "string" && value.length === frames && /^[01]*$/.test(value),
    `expected ${frames} letters 0 and 1`,
  );
  return value;
}

/**
 * Add up steps of x and y.
 * @template {Int32Array | Float64Array} A
 * @param {any} steps @param {string} name @param {new (length: number) => A} kind @param {number} unit @returns {A}
 */
function points(steps, name, kind, unit) {
  check(numbers(steps, name).length % 2 === 0, `${name}: expected pairs of x and y`);
  const result = new kind(steps.length);
  for (let x = 0, y = 0, i = 0; i < steps.length; i += 2) {
    x += steps[i];
    y += steps[i + 1];
    result[i] = Math.min(FAR, Math.max(-FAR, x)) * unit;
    result[i + 1] = Math.min(FAR, Math.max(-FAR, y)) * unit;
  }
  return result;
}

/** @param {any} stored @returns {Overlay} */
function decode(stored) {
  check(stored?.format === FORMAT, `format ${stored?.format}, expected ${FORMAT}`);
  const { frames } = stored;
  check(
    Number.isInteger(frames) && frames > 0 && frames <= MOST_FRAMES,
    `expected 1 to ${MOST_FRAMES} frames but got ${frames}`,
  );
  const size = numbers(stored.size, "size"),
    map = stored.map ?? null,
    scale = stored.scale ?? [1, 1];
  check(size.length === 2 && size.every((side) => side > 0), "size: expected width and height");
  check(numbers(scale, "scale").length === 2, "scale: expected two numbers");
  if (map) {
    const fits =
      numbers(map, "map").length === 2 && map.every((/** @type {number} */ side) => side > 0 && side <= MOST_SIDE);
    check(fits, `map: expected a size but got ${map.join(" x ")}`);
  }
  const objects = list(map ? (stored.objects ?? []) : [], "objects").map((item) => {
    check(
      item.id > 0 && item.id < 256 && list(item.outlines, "outlines").length === frames,
      `objects: expected an id and outlines of ${frames} frames`,
    );
    const outlines = item.outlines.map((/** @type {any} */ rings) =>
      list(rings, "outlines").map((ring) => points(ring, "outlines", Int32Array, 1)),
    );
    const left = (item.left ?? null) === null ? null : marks(item.left, frames);
    return {
      id: item.id,
      label: String(item.label),
      present: marks(item.present, frames),
      occluded: marks(item.occluded, frames),
      left,
      outlines,
    };
  });
  const tracks = list(stored.tracks ?? [], "tracks").map((item) => {
    const { xy, visible } = item;
    check(
      list(xy, "tracks").length === list(visible, "tracks").length &&
        xy.length === list(item.query_frames, "tracks").length,
      "tracks: expected query_frames, visible and xy of as many points",
    );
    return {
      object: Number(item.object),
      points: xy.map((/** @type {any} */ steps, /** @type {number} */ index) => {
        const result = points(steps, "tracks", Float64Array, UNIT);
        check(result.length === 2 * frames, `tracks: expected positions in ${frames} frames`);
        return { visible: marks(visible[index], frames), xy: result };
      }),
    };
  });
  const people = list(stored.people ?? [], "people").map((person) => {
    check(
      list(person.frames, "people").length === frames,
      `people: expected ${frames} frames but got ${person.frames.length}`,
    );
    return person.frames.map(pose);
  });
  return { frames, size, scale, objects, tracks, people };
}

/** @param {any} row @returns {OverlayPose} */
function pose(row) {
  if (row === null) return null;
  check(
    numbers(row, "people").length === 3 * JOINTS + 4,
    `people: expected ${3 * JOINTS + 4} numbers a frame but got ${row.length}`,
  );
  return {
    joints: Float64Array.from(row.slice(0, 2 * JOINTS), (value) => value * UNIT),
    scores: Float64Array.from(row.slice(2 * JOINTS, 3 * JOINTS), (value) => Math.min(1, Math.max(0, value / SHARE))),
    box: Float64Array.from(row.slice(3 * JOINTS), (value) => value * UNIT),
  };
}

/** @param {any} stored @returns {{ overlay: Overlay, error: null } | { overlay: null, error: string }} */
export const decodeOverlay = (stored) => {
  try {
    return { overlay: decode(stored), error: null };
  } catch (error) {
    return { overlay: null, error: /** @type {Error} */ (error).message };
  }
};
