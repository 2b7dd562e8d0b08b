// One clip in the gallery: poster, names, scores, and a small video while the pointer rests on it.

import { h, reducedMotion } from "./core.js";
import { colour, data } from "./data.js";
import { columnOf, fieldTitle } from "./filter.js";
import { link } from "./state.js";

const REST = 150; // milliseconds until a video begins
const MOST_VIDEOS = 24;
/** @type {HTMLVideoElement[]} Without a source. */
const spare = [];
/** @type {Map<HTMLElement, HTMLVideoElement>} By poster, first started first. */
const playing = new Map();

/** @param {HTMLElement} poster Ends its video. */
function stop(poster) {
  const video = playing.get(poster);
  poster.querySelector(".trouble")?.remove();
  if (!video) return;
  playing.delete(poster);
  video.onplaying = video.onerror = null;
  video.pause();
  video.removeAttribute("src");
  video.load();
  video.remove();
  spare.push(video);
  label(poster, false);
}

/** @param {HTMLElement} poster @param {boolean} plays */
function label(poster, plays) {
  const button = poster.querySelector("button");
  button?.setAttribute("aria-label", plays ? "Stop" : "Play");
  if (button) button.textContent = plays ? "■" : "▶";
}

/** @param {HTMLElement} poster @param {number} row */
function play(poster, row) {
  if (playing.has(poster)) return;
  const media = data.media(row);
  /** @param {string} reason */
  const trouble = (reason) => {
    stop(poster);
    poster.append(h("span.trouble.small", { text: reason, title: reason }));
  };
  if (media.url === null) return trouble(media.reason);
  for (const oldest of playing.keys()) {
    if (playing.size < MOST_VIDEOS) break;
    stop(oldest);
  }
  const video =
    spare.pop() ??
    Object.assign(h("video", { tabindex: -1, "aria-hidden": "true" }), { muted: true, loop: true, playsInline: true });
  video.className = "";
  video.onplaying = () => {
    video.className = "shown";
  };
  video.onerror = () => trouble("this browser cannot play the clip");
  playing.set(poster, video);
  video.src = media.url;
  poster.append(video);
  label(poster, true);
  video.play().catch(() => {}); // stopped before it began, or an error, which has its own event
}

/** @param {HTMLElement} poster @param {number} row */
const toggle = (poster, row) => (playing.has(poster) ? stop(poster) : play(poster, row));

/** @param {HTMLElement} tile @param {number} row Plays or stops it. */
export const toggleTile = (tile, row) => toggle(/** @type {HTMLElement} */ (tile.querySelector(".poster")), row);

/** @param {Element} row Of the grid, that leaves the page: its videos end, and its pictures free their memory. */
export const stopTiles = (row) => {
  for (const poster of row.querySelectorAll(".poster")) stop(/** @type {HTMLElement} */ (poster));
  for (const image of row.querySelectorAll("img")) image.removeAttribute("src");
};

/** @param {number} row @returns {HTMLElement} */
function picture(row) {
  const failed = data.index.clips.failed[row],
    place = data.poster(row);
  const reason = failed >= 0 ? data.index.reasons[failed] : "";
  const poster = h(
    "div.poster",
    reason
      ? h("p.reason", { title: reason }, h("strong.fault", { text: "Failed" }), h("span", { text: reason }))
      : place
        ? h("img", { src: place, alt: "", decoding: "async", draggable: "false" })
        : h("p.reason.muted", { text: "no picture" }),
  );
  if (reason) return poster;
  poster.append(
    h("button.play", {
      type: "button",
      tabindex: -1,
      "aria-label": "Play",
      text: "▶",
      onclick: () => toggle(poster, row),
    }),
  );
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let hovered = false;
  poster.addEventListener("pointerenter", (/** @type {PointerEvent} */ event) => {
    if (event.pointerType !== "mouse" || reducedMotion.matches || playing.has(poster)) return;
    timer = setTimeout(() => {
      hovered = true;
      if (poster.isConnected) play(poster, row);
    }, REST);
  });
  poster.addEventListener("pointerleave", () => {
    clearTimeout(timer);
    if (hovered) stop(poster);
    hovered = false;
  });
  return poster;
}

/**
 * @param {number} row
 * @param {string} sort
 * @returns {HTMLElement | null} What the clips are sorted by, or the index.
 */
function mainScore(row, sort) {
  const metric = data.metric(sort) ?? (sort ? undefined : data.metric("motion_index"));
  if (metric) {
    const { reason } = data.missing(metric.key, row),
      title = reason || data.place(metric.key, row) || metric.title;
    return h("span.n.main", { title }, h("span.muted", { text: metric.label }), ` ${data.shown(metric.key, row)}`);
  }
  const column = /** @type {Column | null} */ (columnOf(sort));
  if (column?.kind !== "number") return null;
  return h(
    "span.n.main",
    Number.isNaN(column.at[row]) ? "–" : String(+column.at[row].toPrecision(4)),
    " ",
    h("span.muted", { text: fieldTitle(sort) }),
  );
}

/** @param {MetricInfo} metric @param {number} row @returns {HTMLElement} */
function bar(metric, row) {
  const value = data.scores(metric.key)[row],
    [low, high] = metric.range ?? [0, 1],
    { reason } = data.missing(metric.key, row);
  const share = Number.isNaN(value) ? 0 : Math.max(0, Math.min(1, (value - low) / (high - low)));
  return h(
    "div.bar",
    {
      title: reason
        ? `${metric.label}: ${reason}`
        : [metric.title, data.place(metric.key, row)].filter(Boolean).join(": "),
    },
    h("span.muted", { text: metric.label }),
    h("span.track", { "--share": share, "--colour": colour(metric.key) }),
    h("span.n", { text: data.shown(metric.key, row) }),
  );
}

/** @returns {MetricInfo[]} The metrics that tiles have bars of. */
export const tileMetrics = () => data.index.metrics.filter((metric) => metric.kind === "metric");

/** @param {number} row @param {State} state @param {number} column @returns {HTMLElement} */
export const tile = (row, state, column) => {
  const { runs, prompts } = data.index,
    name = data.name(row),
    model = data.model(row),
    prompt = data.prompt(row);
  const run = data.run(row).name,
    folder = name.split("/", 1)[0];
  const source = runs.length > 1 && !model.startsWith(`${run}/`) ? `${model} · ${run}` : model;
  // The next line has the folder.
  const short = name !== folder && model.split("/").at(-1) === folder ? name.slice(folder.length + 1) : name;
  const href = link({ view: "clip", clip: data.id(row), frame: 0 });
  return h(
    "div.tile",
    { role: "gridcell", "aria-colindex": column + 1 },
    picture(row),
    h(
      "div.text",
      h("div.line", h("a.name", { href, tabindex: -1, text: short, title: name })),
      h("div.line", h("span.model.muted", { text: source, title: source }), mainScore(row, state.sort)),
      prompts.length > 0 && h("div.prompt", { text: prompt, title: prompt }),
      tileMetrics().map((metric) => bar(metric, row)),
    ),
  );
};
