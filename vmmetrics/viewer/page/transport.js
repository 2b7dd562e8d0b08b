// Buttons of a player: play, step, seek, speed, loop, layers.

import { button, h, select, svg } from "./core.js";
import { toggleLayer } from "./keys.js";
import { layers } from "./state.js";

const RATES = [0.1, 0.25, 0.5, 1, 2];
const PLAY = "M4 2l9 6-9 6z",
  PAUSE = "M4 2h3v12H4zM9 2h3v12H9z",
  BACK = "M11 2v12L4 8z",
  ON = "M5 2v12l7-6z";
const LOOP =
  "M2 8a6 6 0 0 1 10.5-4L14 2.5V7H9.5l1.6-1.6A4 4 0 0 0 4 8z" +
  "M14 8a6 6 0 0 1-10.5 4L2 13.5V9h4.5l-1.6 1.6A4 4 0 0 0 12 8z";

/**
 * @param {string} path
 * @param {string} label
 * @param {() => void} act
 * @param {Record<string, string>} [more]
 */
const iconButton = (path, label, act, more = {}) =>
  h(
    "button",
    { type: "button", "aria-label": label, title: label, onclick: act, ...more },
    svg(
      "svg",
      { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
      svg("path", { d: path, fill: "currentColor" }),
    ),
  );

/**
 * Make the bar of buttons under a player.
 * @param {Player} player
 * @param {string[]} [offered] Layers that the reader can show.
 * @returns {HTMLElement}
 */
export const transport = (player, offered = layers) => {
  const play = iconButton(PLAY, "Play (space)", () => {
    player.playing ? player.pause() : player.play();
  });
  const loop = iconButton(LOOP, "Loop (l)", () => {
    player.loop = player.loop ? null : [0, player.frames - 1];
  });
  const slider = h("input", {
    type: "range",
    min: 0,
    max: player.frames - 1,
    step: 1,
    value: 0,
    "aria-label": "Frame",
    oninput: () => {
      player.pause();
      player.seek(slider.valueAsNumber);
    },
  });
  const time = h("span.time.small.muted");
  const rate = select(
    RATES.map((value) => [value, `${value}×`]),
    player.rate,
    (value) => {
      player.rate = Number(value);
    },
    { "aria-label": "Speed", title: "Speed" },
  );
  const buttons = offered.map((layer, position) =>
    button(layer, () => toggleLayer(player, layer), { title: `Show ${layer} (${position + 1})`, "data-layer": layer }),
  );
  const step = (/** @type {number} */ by) => {
    player.pause();
    player.seek(player.frame + by);
  };
  const refresh = () => {
    const label = player.playing ? "Pause (space)" : "Play (space)";
    play.title = label;
    play.setAttribute("aria-label", label);
    play.querySelector("path").setAttribute("d", player.playing ? PAUSE : PLAY);
    loop.setAttribute("aria-pressed", String(Boolean(player.loop)));
    loop.title = player.loop ? `Loop of frames ${player.loop.join(" to ")} (l)` : "Loop (l)";
    rate.value = String(player.rate);
    for (const button of buttons)
      button.setAttribute("aria-pressed", String(player.layers.includes(button.dataset.layer)));
  };
  const move = () => {
    slider.max = String(player.frames - 1);
    slider.value = String(player.frame);
    const text = `frame ${player.frame} of ${player.frames - 1}, ${player.timeOf(player.frame).toFixed(2)} s`;
    slider.setAttribute("aria-valuetext", text);
    time.textContent = text;
  };
  player.root.addEventListener("playerchange", refresh);
  player.onFrame(move);
  refresh();
  move();
  return h(
    "div.transport",
    { role: "group", "aria-label": "Playing" },
    iconButton(BACK, "One frame back (,)", () => step(-1)),
    play,
    iconButton(ON, "One frame on (.)", () => step(1)),
    slider,
    time,
    rate,
    loop,
    offered.length > 0 && h("span.layers", { role: "group", "aria-label": "Layers" }, buttons),
  );
};
