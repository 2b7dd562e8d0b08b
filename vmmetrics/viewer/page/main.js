// The report: its views in the order of their tabs, one at a time, chosen by the state; notes, and dead links.

import { count, h, views } from "./core.js";
import { data } from "./data.js";
import { noFilter } from "./filter.js";
import { link, onState, state } from "./state.js";
import { themeSwitch } from "./theme.js";

import "./leaderboard.js";
import "./gallery.js";
import "./distributions.js";
import "./clip.js";
import "./compare.js";
import "./changes.js";
import "./groups.js";
import "./about.js";

/** @type {{ key: string, open: { update(state: State): void, close(): void } } | null} */
let shown = null;

/** @returns {HTMLElement[]} What a reader must know before comparing numbers. */
function notes() {
  const { provenance, runs } = data.index;
  const lines = [];
  if (provenance.shown < provenance.total) {
    const why = provenance.left_out.map(({ reason, clips }) => `${clips.toLocaleString("en")}: ${reason}`).join("; ");
    lines.push(
      `${provenance.shown.toLocaleString("en")} of ${count(provenance.total, "clip")} are listed` +
        `${why ? ` (left out: ${why})` : ""}. Means and tests are over what their view says.`,
    );
  }
  const groups = [...new Set(runs.map((run) => run.group))].map((group) =>
    runs
      .filter((run) => run.group === group)
      .map((run) => run.name)
      .join(", "),
  );
  if (groups.length > 1)
    lines.push(
      "Runs of different configuration: scores are comparable only within one of " +
        `${groups.map((names) => `[${names}]`).join(" ")}.`,
    );
  return lines.map((line) => h("p.note.about-runs", { text: line }));
}

/** @param {string} heading @param {any[]} body @returns {void} */
function message(heading, ...body) {
  document
    .querySelector("main")
    ?.replaceChildren(h("div.message", { role: "alert" }, h("h2", { tabindex: -1, text: heading }), ...body));
}

/**
 * @param {State} state
 * @param {View[]} available
 * @returns {[string, any[]] | null} What is wrong with a link.
 */
function deadEnd(state, available) {
  const clips = h("a", { href: link({ ...noFilter(), view: "", clip: "", frame: 0 }), text: "To the start" });
  if (state.view && !available.some((view) => view.key === state.view)) {
    const empty = views.find((view) => view.key === state.view);
    return [
      empty ? `This report has nothing for “${empty.title || empty.key}”` : `There is no view “${state.view}”`,
      [h("p", clips)],
    ];
  }
  if (state.view === "clip" && data.find(state.clip) < 0) {
    const explanation =
      data.index.provenance.shown < data.index.provenance.total
        ? "It may be among the clips that this report leaves out."
        : "The link may belong to another report.";
    return [
      state.clip ? "This clip is not in the report" : "The link names no clip",
      [h("p", h("code", { text: state.clip })), h("p", { text: explanation }), h("p", clips)],
    ];
  }
  return null;
}

window.vmReport.start = () => {
  const main = /** @type {HTMLElement} */ (document.querySelector("main"));
  if (!data.index) {
    message(
      "The data of this report cannot be read",
      h(
        "p",
        h("code", { text: "data/index.js" }),
        " is missing beside ",
        h("code", { text: "index.html" }),
        ", or damaged. Keep the folder of the report together; unpack an archive whole before you open it; ",
        "or write the report again with ",
        h("code", { text: "vmmetrics report" }),
        ".",
      ),
    );
    document.documentElement.dataset.ready = "1";
    return;
  }
  const links = /** @type {HTMLElement} */ (document.querySelector("nav"));
  const title = /** @type {HTMLElement} */ (document.querySelector("h1"));
  title.textContent = data.index.title;
  const available = views.filter((view) => view.available());
  const tabs = new Map(
    available
      .filter((view) => view.title)
      .map((view) => {
        const tab = h("a", { href: link({ view: view.key }), text: view.title });
        links.append(tab);
        return [view.key, tab];
      }),
  );

  /** @param {View} view @returns {{ update(state: State): void, close(): void }} */
  const open = (view) => {
    try {
      return view.open(main);
    } catch (error) {
      console.error(error);
      message("This view cannot be drawn", h("p", { text: String(error) }));
      return { update: () => {}, close: () => {} };
    }
  };

  /** @param {State} state */
  const show = (state) => {
    const wrong = deadEnd(state, available);
    const view = available.find((candidate) => candidate.key === state.view) ?? available[0];
    const key = wrong ? `no ${state.view} ${state.clip}` : view.key;
    for (const [name, tab] of tabs) {
      tab.href = link({ view: name });
      if (!wrong && name === view.key) tab.setAttribute("aria-current", "page");
      else tab.removeAttribute("aria-current");
    }
    if (shown?.key === key) return shown.open.update(state);
    const first = !shown;
    shown?.open.close();
    main.replaceChildren();
    main.dataset.view = wrong ? "" : view.key;
    document.title = wrong || !view.title ? data.index.title : `${view.title} · ${data.index.title}`;
    scrollTo(0, 0);
    shown = { key, open: wrong ? { update: () => {}, close: () => {} } : open(view) };
    if (wrong) message(wrong[0], ...wrong[1]);
    if (!first && !main.contains(document.activeElement)) {
      const heading = main.querySelector("h2") ?? main;
      heading.setAttribute("tabindex", "-1");
      heading.focus({ preventScroll: true });
    }
  };
  document.querySelector("header")?.append(
    themeSwitch(() => {
      shown?.open.close(); // charts take their colours when they are drawn
      shown = null;
      show(state);
    }),
  );
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    main.focus();
  });
  main.before(...notes());
  history.scrollRestoration = "manual";
  onState(show);
  show(state);
  document.documentElement.dataset.ready = "1";
};
