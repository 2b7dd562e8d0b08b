// The owner's page: how far the study is, whether raters agree, and what is still to come. No rater reaches it.

import { fixed, h } from "../../viewer/page/core.js";

const EVERY = 5000; // ms between two looks
const page = /** @type {HTMLElement} */ (document.getElementById("page"));

/** @param {string} title @param {[string, any][]} rows */
const table = (title, rows) => [
  h("h2", title),
  h(
    "table",
    rows.map(([name, value]) => h("tr", h("th", { scope: "row" }, name), h("td.n", value))),
  ),
];

/** @param {AgreementFigure} figure */
const interval = ({ value, low, high, note }) =>
  value === null
    ? `– (${note})`
    : `${fixed(value, 2)}${low === null ? "" : ` [${fixed(low, 2)}, ${fixed(high, 2)}]`}${note ? ` ${note}` : ""}`;

/** Half the width of an interval when the votes to come are there: it shrinks with the root of their number. */
const foretold = (
  /** @type {AgreementFigure} */ { low, high },
  /** @type {StudyFigures} */ { votes, votes_to_come },
) =>
  low === null || high === null || !votes
    ? "–"
    : `±${fixed(((high - low) / 2) * Math.sqrt(votes / (votes + votes_to_come)), 2)}`;

const half = (/** @type {number | null} */ width) => (width === null ? "–" : `±${fixed(width, 2)}`);

/** @param {StudyFigures} figures */
function draw(figures) {
  const money = (/** @type {number} */ sessions) =>
    figures.pay ? `${(sessions * figures.pay).toFixed(2)} ${figures.currency}` : "–";
  const wanted = figures.items * figures.votes_wanted;
  document.title = figures.path;
  page.replaceChildren(
    h("h1", `${figures.path} (${figures.design})`),
    h("progress", { max: wanted, value: wanted - figures.votes_to_come, "aria-label": "Votes that count" }),
    ...table("Progress", [
      ["Votes that count", `${wanted - figures.votes_to_come} of ${wanted}`],
      ["Votes of an item", `${figures.fewest} to ${figures.most}`],
      ["Sessions finished", figures.finished],
      ["… that count", figures.counted],
      ["… under way", figures.open],
      ["Raters withdrawn", figures.withdrawn],
      ["Minutes a session", fixed(figures.minutes, 1)],
      ["Paid so far", money(figures.finished)],
    ]),
    ...table("To come", [
      ["Sessions", figures.sessions_to_come],
      ["Minutes of raters", fixed(figures.sessions_to_come * figures.minutes, 0)],
      ["Money", money(figures.sessions_to_come)],
    ]),
    ...Object.entries(figures.agreement).flatMap(([dimension, values]) =>
      table(
        `Agreement: ${dimension}`,
        Object.entries(values).map(([name, value]) => [
          name,
          `${interval(value)}; at the end ${foretold(value, figures)}`,
        ]),
      ),
    ),
    ...table(
      "Agreement of a score inside models, half the interval to expect",
      Object.entries(figures.within_models).map(([dimension, { now, end }]) => [
        dimension,
        `${half(now)}; at the end ${half(end)}`,
      ]),
    ),
    ...table("Sessions finished that a criterion excludes", Object.entries(figures.flagged)),
  );
}

async function look() {
  try {
    const answer = await fetch(`${location.pathname.replace(/\/$/, "")}/figures`);
    if (!answer.ok) throw new Error(`${answer.status}`);
    draw(await answer.json());
  } catch (error) {
    page.replaceChildren(h("p.fault", `The server does not answer (${/** @type {Error} */ (error).message}).`));
  }
  setTimeout(look, EVERY);
}

look();
