// Events of clips: their order, and what is said of them.

import { fixed, score } from "./core.js";
import { data } from "./data.js";

/** @param {ClipEvent} event */
export const eventName = (event) =>
  `${data.metric(event.metric)?.label ?? event.metric} ${event.target ? `${event.target}: ` : ""}${event.reason}`;

/** @param {ClipEvent} event @param {number} frame */
export const eventAt = (event, frame) => event.frames.some(([first, last]) => first <= frame && frame <= last);

/** @param {ClipEvent} event @returns {string} "frame 3", "frames 3 to 7, 9 to 12", "whole clip" */
export const eventFrames = (event) =>
  event.frames.length === 0
    ? "whole clip"
    : (event.frames.length > 1 || event.frames[0][0] !== event.frames[0][1] ? "frames " : "frame ") +
      event.frames.map(([first, last]) => (first === last ? first : `${first} to ${last}`)).join(", ");

/** @param {ClipEvent} event @returns {string} "3.1 points", "excused: …", "" where the cost is not known. */
export const eventCost = (event) =>
  event.excuse !== null ? `excused: ${event.excuse}` : event.cost === null ? "" : `${fixed(event.cost, 1)} points`;

/** @param {ClipEvent} event @returns {string} Everything about an event; begins with the text of its bar. */
export const eventText = (event) => {
  const limit = event.threshold === null ? "" : `, threshold ${score(event.threshold)}`;
  const size = event.magnitude === null ? "" : `${score(event.magnitude)}${limit}`;
  return [eventName(event), eventCost(event), eventFrames(event), size].filter(Boolean).join(" · ");
};

/** @param {ClipEvent} event @returns {number} Order of events: cost, else how far over its threshold. */
const gravity = (event) => event.cost ?? Math.abs((event.magnitude ?? 0) / (event.threshold || Infinity)) / 1000;

/** @param {ClipEvent[]} events @returns {ClipEvent[]} The most costly first, excused ones last. */
export const byCost = (events) =>
  [...events].sort(
    (a, b) =>
      Number(a.excuse !== null) - Number(b.excuse !== null) ||
      gravity(b) - gravity(a) ||
      (a.frames[0]?.[0] ?? 0) - (b.frames[0]?.[0] ?? 0),
  );
