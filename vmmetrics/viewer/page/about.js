// How the report came about, what its numbers are, and keys.

import { count, h, list, views } from "./core.js";
import { colour, data } from "./data.js";
import { PLAYER_KEYS } from "./keys.js";
import { columnInfo, scoreUnit } from "./numbers.js";
import { head, rowHead, swatch, table } from "./tables.js";

const OF_INDEX = "one number from the five scores of a clip, for ranking; missing without CAS or MSS";
const KEYS = [
  ["Everywhere", "Tab, Enter", "go to a link, button or field, and use it"],
  ["Clips", "arrows, j, k, Home, End", "from clip to clip"],
  ["Clips", "Enter, space", "open the clip, play it"],
  ...PLAYER_KEYS.map((keys) => ["Clip, compare", ...keys]),
  ["Distributions", "← and →", "on a chart: previous and next clip by score"],
  ["Distributions", "↑ and ↓", "on a chart: the model above and below"],
  ["Distributions", "Enter, Escape", "open the clip, leave it"],
];
const MEANING = [
  "Means are over clips. Intervals in brackets are 95 % bootstrap intervals over prompts: a prompt is drawn with all " +
    "its clips.",
  "Differences are over prompts: the clips of one prompt are averaged first. p is that of a two-sided sign-flip test " +
    "on the prompts that both sides have, Holm-corrected over the comparisons of its table.",
  "The cost of an event is in points, hundredths of its score; an excused event costs none.",
  "A missing score is a dash with its reason, and stands last in either order. Stills, slide shows and noise have no " +
    "score; where a mean of INDEX counts them as 0, it says so, and the mean of the others stands beside it.",
];
const COVERED =
  "Tables of models, changes and tags cover all clips of the runs; gallery and distributions those that are listed.";
const LICENCES =
  "This page is part of vmmetrics, Apache License 2.0. It includes uPlot, © 2022 Leon Sorokin, MIT License.";
const MIT = `
Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to
permit persons to whom the Software is furnished to do so, subject to the following conditions: The above copyright
notice and this permission notice shall be included in all copies or substantial portions of the Software. THE
SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS
OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;

/** @param {string} title @param {string[]} heads @param {any[][]} rows The first cell of a row heads it. */
const facts = (title, heads, rows) =>
  table(
    title,
    ".facts",
    heads.map((text, place) => head(text, place ? "" : ".first")),
    rows.map(([first, ...cells]) => [rowHead(first), ...cells.map((cell) => h("td", cell))]),
  );

/** @param {string | null} time ISO 8601. @returns {string} */
const minute = (time) => (time ? `${time.slice(0, 16).replace("T", " ")} UTC` : "");

/** @param {RunInfo} run */
const time = (run) => [minute(run.begun), minute(run.ended)].filter(Boolean).join(" to ") || "not recorded";

/** @param {RunInfo} run */
const versions = (run) =>
  Object.entries(run.versions)
    .map(([key, numbers]) => `${columnInfo(key).label} ${numbers.join(" and ")}`)
    .join(", ") || "not recorded";

function runs() {
  const { runs } = data.index,
    several = new Set(runs.map((run) => run.group)).size > 1;
  const group = several ? ["Group"] : [];
  return [
    h("h2", "Runs"),
    several ? h("p.prose", "Only runs of the same group are comparable with one another.") : null,
    facts(
      "Runs",
      ["Run", "Clips", "Failed", "Preset", "Protocol", ...group, "Score versions", "vmmetrics", "Scored"],
      runs.map((run) => [
        run.name,
        run.clips.toLocaleString("en"),
        run.failed ? h("span.fault", run.failed.toLocaleString("en")) : "0",
        run.preset,
        run.protocol,
        ...(several ? [String(run.group + 1)] : []),
        versions(run),
        run.vmmetrics.join(", ") || "not recorded",
        time(run),
      ]),
    ),
    list(
      runs.flatMap((run) => [run.label, ...run.notes].map((note) => `${run.name}: ${note}`)),
      ".prose",
    ),
  ];
}

function scores() {
  const rows = data.index.metrics.map((metric) => {
    const better = metric.low_is_fault
      ? metric.lower_is_better
        ? "lower is better"
        : "higher is better"
      : "neither is better";
    const meaning =
      metric.kind === "rating"
        ? "human rating"
        : metric.kind === "index"
          ? OF_INDEX
          : metric.meaning || "a metric of the user's own";
    return [[swatch(colour(metric.key)), metric.label], metric.title, meaning, scoreUnit(metric.key), better];
  });
  return [
    h("h2", "Scores"),
    facts("Scores", ["Score", "Name", "Meaning", "Range or unit", "Direction"], rows),
    list(MEANING, ".prose"),
  ];
}

function provenance() {
  const { provenance: about } = data.index,
    hidden = about.total - about.shown;
  return [
    h("h2", "This report"),
    list(
      [
        about.vmmetrics && `Written by vmmetrics ${about.vmmetrics}.`,
        `${about.shown.toLocaleString("en")} of ${count(about.total, "clip")} of the runs are listed.`,
        hidden > 0 && COVERED,
        ...about.left_out.map(({ reason, clips }) => `${count(clips, "clip")} left out: ${reason}`),
        ...about.notes,
        "The page makes no network request. What the address holds after # reproduces view, filter, clip and frame.",
      ],
      ".prose",
    ),
  ];
}

views.push({
  key: "about",
  title: "About",
  available: () => true,
  open: (root) => {
    root.append(
      h(
        "div.tables-of-numbers",
        provenance(),
        runs(),
        scores(),
        h("h2", "Keys"),
        facts("Keys", ["View", "Key", "What it does"], KEYS),
        h("h2", "Licences"),
        h("p.prose", LICENCES),
        h("details.prose", h("summary", "MIT License"), h("p.small", MIT)),
      ),
    );
    return { update: () => {}, close: () => {} };
  },
});
