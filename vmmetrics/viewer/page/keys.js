// Keys: one handler, for the page and for parts of it, and tables of what a key does.

import { layers } from "./state.js";

const LEAP = 10; // frames or percent, with shift

/**
 * Handle the keys pressed within a part of the page, unless they are typed or belong to what has the focus.
 * @param {any} part An element, or the document.
 * @param {Record<string, (event: KeyboardEvent) => unknown>} acts By key; false leaves it to the browser.
 * @returns {() => void} Ends it.
 */
export function onKeys(part, acts) {
  const handle = (/** @type {KeyboardEvent} */ event) => {
    const focus = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (!Object.hasOwn(acts, event.key) || focus.closest("input:not([type=range]), textarea, select")) return;
    if (event.key === " " && focus.closest("button, a, summary")) return;
    if (event.key.startsWith("Arrow") && focus.closest("input, .wide")) return;
    if (event.key !== "?" && focus.closest("dialog[open]")) return;
    if (acts[event.key](event) !== false) event.preventDefault();
  };
  part.addEventListener("keydown", handle);
  return () => part.removeEventListener("keydown", handle);
}

/**
 * Return the keys of a slider.
 * @param {number} step
 * @param {(by: number) => void} move To another value; beyond the ends is at them.
 */
export function sliderKeys(step, move) {
  const by = (/** @type {number} */ sign) => (/** @type {KeyboardEvent} */ event) =>
    move(sign * (event.shiftKey ? LEAP : step));
  const [less, more] = [by(-1), by(1)];
  return {
    ...{ ArrowLeft: less, ArrowDown: less, ArrowRight: more, ArrowUp: more },
    ...{ PageDown: () => move(-LEAP), PageUp: () => move(LEAP) },
    ...{ Home: () => move(-Infinity), End: () => move(Infinity) },
  };
}

/**
 * Show a layer of a player, or no longer.
 * @param {{ layers: string[] }} player
 * @param {string} name
 */
export const toggleLayer = (player, name) => {
  player.layers = layers.filter((layer) => player.layers.includes(layer) !== (layer === name));
};

/** Keys of a player and what they do, for readers. */
export const PLAYER_KEYS = [
  ["space", "play or pause"],
  [", and . or ← and →", `one frame back or on; ${LEAP} with shift`],
  ["k and j", "previous and next clip"],
  ["l", "loop the chosen event, or the clip"],
  [`1 to ${layers.length}`, `layers: ${layers.join(", ")}`],
];

/**
 * Return the keys of a player.
 * @param {Pick<Player, "playing" | "play" | "pause" | "layers">} player
 * @param {{ step(frames: number): void, turn(by: number): void, loop(): void }} acts turn: to the clip before or after.
 * @returns {Record<string, (event: KeyboardEvent) => unknown>}
 */
export function playerKeys(player, { step, turn, loop }) {
  const by = (/** @type {number} */ frames) => (/** @type {KeyboardEvent} */ event) =>
    step(frames * (event.shiftKey ? LEAP : 1));
  const [back, on] = [by(-1), by(1)];
  return {
    " ": () => (player.playing ? player.pause() : player.play()),
    ...{ ",": back, "<": back, ArrowLeft: back, ".": on, ">": on, ArrowRight: on },
    ...{ k: () => turn(-1), j: () => turn(1), l: loop },
    ...Object.fromEntries(layers.map((layer, position) => [position + 1, () => toggleLayer(player, layer)])),
  };
}
