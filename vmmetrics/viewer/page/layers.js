// The layers of a clip, drawn over its picture.

import { eventAt, eventName } from "./events.js";
import { FAR } from "./overlay.js";

/** @typedef {import("./overlay.js").Overlay} Overlay */

// As vmmetrics/utils/display/style.py and vmmetrics/scoring/show/sheet.py.
const OBJECTS = ["0,114,178", "230,159,0", "0,158,115", "204,121,167", "86,180,233", "240,228,66"];
const FAULT = "214,40,40",
  EXCUSED = "150,156,168",
  PAPER = "255,255,255",
  DARK = "20,20,20";
const MASK_OPACITY = 0.28,
  TRAIL_FRAMES = 10,
  LEAST_SCORE = 0.3;
/** @type {[number[][], string][]} */
// prettier-ignore
const LIMBS = [
  [[[5, 6], [5, 11], [6, 12], [11, 12], [0, 1], [0, 2], [1, 3], [2, 4]], "245,245,245"],
  [[[5, 7], [7, 9], [11, 13], [13, 15]], "64,200,255"],
  [[[6, 8], [8, 10], [12, 14], [14, 16]], "255,176,64"],
];
const MOST_LABELS = 5; // in one frame: more hide the picture
const MOST_LETTERS = 300; // of a label, which are shortened one by one until they fit

// Drawing. `unit` is a CSS pixel in canvas pixels, `x` and `y` canvas pixels per clip pixel.

/** @typedef {{ context: CanvasRenderingContext2D, unit: number, x: number, y: number, frame: number }} Sheet */

/**
 * Stroke what `trace` outlines, light or dark around it.
 * @param {Sheet} sheet
 * @param {() => void} trace
 * @param {string} colour
 * @param {number} width
 * @param {string} halo
 */
function line({ context, unit }, trace, colour, width, halo) {
  context.beginPath();
  trace();
  for (const [style, extra] of /** @type {[string, number][]} */ ([
    [`rgba(${halo},.8)`, 2],
    [`rgb(${colour})`, 0],
  ])) {
    context.strokeStyle = style;
    context.lineWidth = (width + extra) * unit;
    context.stroke();
  }
}

/** @param {number} id */
const colourOf = (id) => OBJECTS[(id - 1 + OBJECTS.length) % OBJECTS.length];

/** @param {Sheet} sheet @param {Overlay} overlay @param {Labels} labels */
function masks(sheet, overlay, labels) {
  const { context } = sheet,
    [across, down] = [overlay.scale[0] * sheet.x, overlay.scale[1] * sheet.y];
  for (const item of overlay.objects) {
    const rings = item.outlines[sheet.frame];
    if (!rings.length) continue;
    let top = Infinity,
      left = 0;
    const trace = () => {
      for (const ring of rings) {
        for (let i = 0; i < ring.length; i += 2) {
          const x = (ring[i] + 0.5) * across,
            y = (ring[i + 1] + 0.5) * down;
          if (i) context.lineTo(x, y);
          else context.moveTo(x, y);
          if (y < top) [top, left] = [y, x];
        }
        context.closePath();
      }
    };
    line(sheet, trace, colourOf(item.id), 2, DARK);
    context.fillStyle = `rgba(${colourOf(item.id)},${MASK_OPACITY})`;
    context.fill("evenodd");
    labels.object(`${item.label} ${item.id}`, left, top, colourOf(item.id));
  }
}

/** @param {Sheet} sheet @param {Overlay} overlay */
function tracks(sheet, overlay) {
  const { context, frame, unit } = sheet,
    first = Math.max(0, frame - TRAIL_FRAMES);
  for (const { object, points: of } of overlay.tracks)
    for (const { visible, xy } of of) {
      if (visible[frame] !== "1") continue;
      const x = (/** @type {number} */ at) => (xy[2 * at] + 0.5) * sheet.x,
        y = (/** @type {number} */ at) => (xy[2 * at + 1] + 0.5) * sheet.y;
      line(
        sheet,
        () => {
          for (let at = first; at < frame; at++)
            if (visible[at] === "1" && visible[at + 1] === "1") {
              context.moveTo(x(at), y(at));
              context.lineTo(x(at + 1), y(at + 1));
            }
        },
        colourOf(object),
        1.5,
        DARK,
      );
      context.beginPath();
      context.arc(x(frame), y(frame), 2.5 * unit, 0, 2 * Math.PI);
      context.fillStyle = `rgb(${colourOf(object)})`;
      context.fill();
      context.strokeStyle = `rgb(${PAPER})`;
      context.lineWidth = unit;
      context.stroke();
    }
}

/** @param {Sheet} sheet @param {Overlay} overlay */
function skeletons(sheet, overlay) {
  const { context, unit } = sheet;
  for (const person of overlay.people) {
    const seen = person[sheet.frame];
    if (!seen) continue;
    const x = (/** @type {number} */ joint) => (seen.joints[2 * joint] + 0.5) * sheet.x;
    const y = (/** @type {number} */ joint) => (seen.joints[2 * joint + 1] + 0.5) * sheet.y;
    const visible = [...seen.scores.keys()].filter((joint) => seen.scores[joint] >= LEAST_SCORE);
    const heights = visible.map(y),
      tall = Math.max(...heights) - Math.min(...heights);
    const width = Math.min(4, Math.max(1.5, tall / unit / 60));
    for (const [bones, colour] of LIMBS)
      line(
        sheet,
        () => {
          for (const [a, b] of bones)
            if (visible.includes(a) && visible.includes(b)) {
              context.moveTo(x(a), y(a));
              context.lineTo(x(b), y(b));
            }
        },
        colour,
        width,
        DARK,
      );
    for (const joint of visible) {
      context.beginPath();
      context.arc(x(joint), y(joint), width * unit, 0, 2 * Math.PI);
      context.fillStyle = `rgb(${PAPER})`;
      context.fill();
      context.strokeStyle = `rgb(${DARK})`;
      context.lineWidth = unit;
      context.stroke();
    }
  }
}

/**
 * What speaks against the motion, CAS.
 * @param {Sheet} sheet
 * @param {ClipDetail} detail
 * @param {Labels} labels
 */
function saliency({ context, frame, unit }, detail, labels) {
  const look = detail.saliency.find((candidate) => candidate.frame === frame),
    rows = look?.gain.length ?? 0;
  if (!look || !rows) return;
  const most = Math.max(...look.gain.flat()),
    [high, wide] = [context.canvas.height / rows, context.canvas.width / look.gain[0].length];
  if (most <= 0) return;
  look.gain.forEach((gains, row) =>
    gains.forEach((gain, column) => {
      context.fillStyle = `rgba(${FAULT},${gain > 0 ? (0.6 * gain) / most : 0})`;
      context.fillRect(column * wide + unit, row * high + unit, wide - 2 * unit, high - 2 * unit);
    }),
  );
  labels.event(`CAS saliency: ${look.reason}`, 0, context.canvas.height, FAULT);
}

/**
 * @param {Sheet} sheet
 * @param {ClipEvent[]} events
 * @param {ClipEvent | null} highlight
 * @param {Labels} labels
 */
function boxes(sheet, events, highlight, labels) {
  const { context, unit } = sheet,
    { width, height } = context.canvas;
  const ranked = [...events].sort(
    (a, b) => Number(a === highlight) - Number(b === highlight) || (a.cost ?? 0) - (b.cost ?? 0),
  );
  for (const event of ranked) {
    const excused = event.excuse !== null,
      colour = excused ? EXCUSED : FAULT,
      lit = event === highlight;
    const thick = lit ? 5 : event.box ? 2.5 : 4,
      inset = (thick * unit) / 2;
    const [x0, y0, x1, y1] = event.box
      ? event.box.map((value, side) => Math.min(FAR, Math.max(-FAR, value * (side % 2 ? sheet.y : sheet.x))))
      : [inset, inset, width - inset, height - inset];
    context.setLineDash(excused || !eventAt(event, sheet.frame) ? [6 * unit, 4 * unit] : []);
    line(sheet, () => context.rect(x0, y0, Math.max(unit, x1 - x0), Math.max(unit, y1 - y0)), colour, thick, PAPER);
    context.setLineDash([]);
  }
  for (const event of ranked.reverse().slice(0, MOST_LABELS)) {
    const [x, y] = event.box ?? [0, 0];
    labels.event(eventName(event), x * sheet.x, y * sheet.y, event.excuse === null ? FAULT : EXCUSED);
  }
  if (ranked.length > MOST_LABELS) labels.event(`and ${ranked.length - MOST_LABELS} more`, 0, height, FAULT);
}

/** Texts on grounds of their own, none over another. */
class Labels {
  /** @param {Sheet} sheet */
  constructor(sheet) {
    this.sheet = sheet;
    /** @type {number[][]} Left, top, right and bottom of each. */
    this.taken = [];
    /** @type {[string, number, number, string][]} */
    this.objects = [];
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {string} colour Written after those of events.
   */
  object(text, x, y, colour) {
    this.objects.push([text, x, y, colour]);
  }

  /**
   * Write above a point, or at the next free row under it.
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {string} ground
   */
  event(text, x, y, ground) {
    this.write(text, x, y, ground, 12, true);
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {string} ground
   * @param {number} size
   * @param {boolean} must
   */
  write(text, x, y, ground, size, must) {
    const { context, unit } = this.sheet,
      { width, height } = context.canvas,
      high = (size + 6) * unit;
    context.font = `600 ${size * unit}px system-ui, "DejaVu Sans", sans-serif`;
    context.textBaseline = "middle";
    const room = width - 8 * unit;
    let shown = text.slice(0, MOST_LETTERS).replace(/\s+/g, " ");
    while (shown.length > 1 && context.measureText(shown).width > room) shown = `${shown.slice(0, -2)}…`;
    const wide = context.measureText(shown).width + 8 * unit,
      left = Math.max(0, Math.min(x, width - wide));
    let top = Math.max(0, Math.min(y - high, height - high));
    const free = () => this.taken.every(([l, t, r, b]) => left >= r || left + wide <= l || top >= b || top + high <= t);
    for (let tries = 0; !free() && tries < 40; tries++) top = top + 2 * high <= height ? top + high : 0;
    if (!must && !free()) return;
    this.taken.push([left, top, left + wide, top + high]);
    context.fillStyle = `rgb(${ground})`;
    context.fillRect(left, top, wide, high);
    const [red, green, blue] = ground.split(",").map(Number);
    context.fillStyle = `rgb(${0.299 * red + 0.587 * green + 0.114 * blue > 140 ? DARK : PAPER})`;
    context.fillText(shown, left + 4 * unit, top + high / 2 + unit / 2);
  }

  rest() {
    for (const [text, x, y, colour] of this.objects) this.write(text, x, y, colour, 11, false);
  }
}

/**
 * Draw the layers of a frame over the whole canvas.
 * @param {CanvasRenderingContext2D} context
 * @param {Overlay | null} overlay
 * @param {ClipDetail | null} detail
 * @param {number} frame
 * @param {{ layers: string[], highlight: ClipEvent | null }} options
 */
export const drawOverlay = (context, overlay, detail, frame, { layers, highlight }) => {
  const { canvas } = context,
    unit = canvas.width / Math.max(1, canvas.clientWidth),
    pixels = detail?.pixels ?? detail?.size ?? overlay?.size;
  if (!pixels) return;
  const sheet = { context, unit, frame, x: canvas.width / pixels[0], y: canvas.height / pixels[1] };
  const labels = new Labels(sheet);
  context.lineJoin = context.lineCap = "round";
  if (overlay && frame < overlay.frames) {
    const drawn = { ...sheet, x: canvas.width / overlay.size[0], y: canvas.height / overlay.size[1] };
    if (layers.includes("masks")) masks(drawn, overlay, labels);
    if (layers.includes("tracks")) tracks(drawn, overlay);
    if (layers.includes("skeletons")) skeletons(drawn, overlay);
  }
  if (detail && layers.includes("saliency")) saliency(sheet, detail, labels);
  if (detail && layers.includes("boxes"))
    boxes(
      sheet,
      detail.events.filter((event) => eventAt(event, frame) || event === highlight),
      highlight,
      labels,
    );
  labels.rest();
};
