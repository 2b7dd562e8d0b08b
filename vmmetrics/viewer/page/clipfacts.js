// What is known of a clip: its scores, facts, and clips of the same prompt.

import { button, fixed, h, score, views } from "./core.js";
import { colour, data } from "./data.js";
import { link, state } from "./state.js";
import { wide } from "./tables.js";

const MOST_OTHERS = 12;
const LEVELS = ["Bad", "Poor", "Fair", "Good", "Perfect"];

/** @param {number} row @returns {string} A side of a comparison. */
const side = (row) => `${data.index.clips.run[row]}/${data.model(row)}`;

/** @param {[string, any][]} items Names and what they are. @returns {any} */
export const definitions = (items) =>
  h(
    "dl.clip-dl",
    items.map(([name, value]) => [h("dt", name), h("dd", value)]),
  );

/** @param {number} row @param {ClipDetail | null} detail @returns {any[]} Scores of a clip, and what they lost. */
export function scoresOf(row, detail) {
  const { metrics } = data.index,
    lost = detail?.lost ?? {},
    costs = Object.keys(lost).length > 0;
  const line = (/** @type {MetricInfo} */ { key, label, title, unit }) => {
    const score = data.scores(key)[row],
      missing = data.missing(key, row),
      place = data.place(key, row),
      cost = lost[key];
    const shared = detail?.events.some(
      (event) => event.metric === key && event.cost === null && event.frames.length > 0,
    );
    const rest =
      cost && cost.unexplained >= 0.05
        ? `${fixed(cost.unexplained, 1)} ${shared ? "by all events" : "in no event"}`
        : null;
    return h(
      "tr",
      h(
        "th",
        { scope: "row", "--colour": colour(key) },
        h("span.clip-metric", { text: label }),
        h("div.small.muted", { text: title }),
        place && h("div.small.muted", { text: place }),
      ),
      Number.isNaN(score)
        ? h(
            "td.muted",
            { colspan: costs ? 2 : 1 },
            "– ",
            h("span.small", { text: `${missing.kind === "failed" ? "failed: " : ""}${missing.reason}` }),
          )
        : [
            h("td.n", { title: unit || null }, data.interval(key, row)),
            costs && h("td.n", cost ? fixed(cost.points, 1) : "–", rest && h("div.small.muted", { text: rest })),
          ],
    );
  };
  const heads = h("tr", h("th", { text: "Metric" }), h("th.n", { text: "Score" }), h("th.n", { text: "Lost, points" }));
  const rows = h("tbody", metrics.map(line));
  return [h("h3", { text: "Scores" }), wide("Scores", h("table.clip-scores", costs && h("thead", heads), rows))];
}

/** @param {number} row @returns {any} Clips of the same prompt by other models and in other runs. */
export function othersOf(row) {
  const { clips } = data.index,
    prompt = clips.prompt[row],
    names = clips.name;
  const shown = data.metric(state.metric) ?? data.index.metrics[0];
  const same =
    prompt < 0
      ? []
      : Array.from(names.keys()).filter(
          (other) => other !== row && clips.prompt[other] === prompt && side(other) !== side(row),
        );
  if (!same.length) return null;
  const compare = views.some((view) => view.key === "compare");
  return h(
    "section",
    h("h3", { text: "The same prompt" }),
    h(
      "ul.clip-others",
      same.slice(0, MOST_OTHERS).map((other) =>
        h(
          "li",
          h("a", {
            href: link({ view: "clip", clip: data.id(other) }),
            text: data.model(other) || names[other],
            title: data.id(other),
          }),
          h("span.small.muted", { text: shown ? `${shown.label} ${data.shown(shown.key, other)}` : "" }),
          compare &&
            h("a.small", {
              href: link({ view: "compare", a: side(row), b: side(other), clip: data.id(row) }),
              text: "compare",
              "aria-label": `Compare with ${data.id(other)}`,
            }),
        ),
      ),
    ),
    same.length > MOST_OTHERS && h("p.small.muted", { text: `and ${same.length - MOST_OTHERS} more` }),
  );
}

/**
 * @param {number} row
 * @param {ClipDetail} detail
 * @param {(frame: number) => void} showSaliency
 * @returns {any[]} What is known of a clip.
 */
export function factsOf(row, detail, showSaliency) {
  const { index } = data,
    run = data.run(row),
    fps = data.fps(row);
  /** @type {[string, any][]} */
  const facts = [
    ["Prompt", data.prompt(row)],
    ["Prompt from", detail.prompt_source],
    ["Subject", detail.subject],
    ["Model", data.model(row)],
    ["Run", run.name],
    ["", run.label],
    ["Size", detail.size && `${detail.size.join(" × ")} pixels`],
    [
      "Frames",
      data.frames(row) &&
        `${data.frames(row)}${fps ? `, ${score(fps)} per second` : ""}${detail.timestamps ? ", uneven times" : ""}`,
    ],
    ["Codec", detail.codec],
    ["Scored in", detail.seconds ? `${fixed(detail.seconds, 1)} s` : null],
    ["SHA-256", detail.sha256 && h("code", { text: `${detail.sha256.slice(0, 12)}…`, title: detail.sha256 })],
    ["Path", detail.path],
    ...index.tags.map((tag) => /** @type {[string, any]} */ ([tag.name, data.tag(tag.name, row)])),
    [
      "CAS verdict",
      detail.probabilities?.map((share, level) => `${LEVELS[level]} ${Math.round(100 * share)} %`).join(", "),
    ],
    [
      "CAS saliency",
      detail.saliency.length &&
        detail.saliency.map(({ frame, reason }) =>
          button(`frame ${frame}`, () => showSaliency(frame), { title: reason, class: "small" }),
        ),
    ],
    ...Object.entries(detail.ratings).map(
      ([name, { mean, each }]) =>
        /** @type {[string, any]} */ ([
          `Rated: ${name}`,
          `${score(mean)}${each.length > 1 ? ` (${each.map((value) => score(value)).join(", ")})` : ""}`,
        ]),
    ),
    ...detail.notes.map((note) => /** @type {[string, any]} */ (["Note", note])),
  ];
  return [h("h3", { text: "Facts" }), definitions(facts.filter(([, value]) => value))];
}
