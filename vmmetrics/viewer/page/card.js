// The card of an audited scorer: one score at a time, and the clips of a line once it is unfolded.

import { button, copyText, count, h, select } from "./core.js";
import { data } from "./data.js";
import { Duet } from "./duet.js";
import { onKeys, playerKeys } from "./keys.js";
import { FramePlayer } from "./player.js";
import { transport } from "./transport.js";

import "./study.js";

const REMEDY = "Keep the card's folder together, with clips beside index.html";
const clips = JSON.parse(document.getElementById("clips")?.textContent ?? "");
data.load(clips.index);
window.vmReport.inline({ posters: {}, overlays: {}, details: clips.details });

/**
 * Put players into the figures of a look, those of two clips in step.
 * @param {HTMLElement} look
 * @returns {() => void} Takes them out again.
 */
function play(look) {
  const figures = /** @type {HTMLElement[]} */ ([...look.querySelectorAll("figure[data-row]")]);
  const players = figures.map((figure) => new FramePlayer(Number(figure.dataset.row), { layers: [], remedy: REMEDY }));
  for (const [k, player] of players.entries()) figures[k].append(player.root);
  const shown = players.length > 1 ? new Duet(players[0], players[1]) : players[0];
  const bar = transport(shown, []);
  look.append(bar);
  const step = (/** @type {number} */ by) => {
    shown.pause();
    shown.seek(shown.frame + by);
  };
  const loop = () => {
    shown.loop = shown.loop ? null : [0, shown.frames - 1];
  };
  const deaf = onKeys(look, playerKeys(shown, { step, turn: () => {}, loop }));
  return () => {
    deaf();
    bar.remove();
    shown.destroy();
  };
}

for (const details of document.querySelectorAll("details.more")) {
  /** @type {(() => void)[]} */
  let ends = [];
  details.addEventListener("toggle", () => {
    for (const end of ends.splice(0)) end();
    if (/** @type {HTMLDetailsElement} */ (details).open)
      ends = /** @type {HTMLElement[]} */ ([...details.querySelectorAll(".look:has([data-row])")]).map(play);
  });
}

for (const code of document.querySelectorAll("p.repeat code")) {
  const status = h("span.small.muted", { role: "status" }),
    words = { label: "Command", done: "Copied" };
  code.after(
    button("Copy", () => copyText(code.textContent ?? "", status, words)),
    status,
  );
}

const scores = /** @type {HTMLElement[]} */ ([...document.querySelectorAll("section.score")]);
const choice = select(
  scores.map(({ id, dataset }) => [id, `${dataset.name} (${count(Number(dataset.bad), "failure")})`]),
  scores[0]?.id ?? "",
  (id) => show(id),
);

/** @param {string} id Score of which the lines are shown. */
function show(id) {
  choice.value = id;
  for (const score of scores) score.hidden = score.id !== id;
}

/** Show the line or score that the address names. */
function follow() {
  const target = document.getElementById(location.hash.slice(1)),
    score = target?.closest("section.score");
  if (!target || !score) return;
  show(score.id);
  const fold = /** @type {HTMLDetailsElement | null} */ (target.closest("details.fold"));
  if (fold) fold.open = true;
  target.scrollIntoView();
}

if (scores.length > 1) {
  document.querySelector(".choose")?.append(h("label", "Score ", choice));
  show(scores[0].id);
}
addEventListener("hashchange", follow);
follow();
document.documentElement.dataset.ready = "";
