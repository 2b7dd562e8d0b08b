// What the URL holds. A link reproduces the view, the filter, the clip and the frame.

/** Layers of the overlay of a clip. */
export const layers = ["boxes", "masks", "tracks", "skeletons", "saliency"];
const USUAL_LAYERS = layers.slice(0, 4);

/** Return the state of a URL that holds nothing; what is a text here is a parameter of that name. */
const fresh = () => ({
  view: "",
  /** Text filter over clip, model, prompt and reasons. */
  q: "",
  /** Expression filter: tcs < 0.5 and model == "x". */
  where: "",
  /** Column to sort by: a metric, "name", "model", "frames" or "" for the order of the runs. */
  sort: "",
  /** Identifier of the open clip. */
  clip: "",
  /** Metric that leaderboard, distribution, compare and changes are about. */
  metric: "",
  /** Sides of a comparison: "<run position>/<model>" (model may be empty). */
  a: "",
  b: "",
  /** Position of pair or change in view, where a view has its own paging. */
  pair: "",
  /** "1" where the gallery is a table of numbers. */
  table: "",
  /** Metric on the vertical axis of a scatter; the horizontal one is `metric`. */
  other: "",
  /** Order of the pairs of a comparison: "" for the largest loss of b first, "gains" for its largest gain. */
  order: "",
  /** Line between two clips that lie over one another, in percent from the left; "" for side by side. */
  wipe: "",
  desc: false,
  /** Frame of the open clip. */
  frame: 0,
  /** True where `frame` is meant even if it is 0; without it a clip opens at its most costly event. */
  exact: false,
  layers: [...USUAL_LAYERS],
  /** Facets: "run", "model", "missing.<metric>", "event", "tag.<name>" to chosen values (text). */
  facets: /** @type {Record<string, string[]>} */ (Object.create(null)),
  /** Metric to the ends of a range, inclusive. */
  ranges: /** @type {Record<string, [number, number]>} */ (Object.create(null)),
});
/** @typedef {ReturnType<typeof fresh>} State */

const TEXTS = Object.entries(fresh()).flatMap(([name, value]) => (typeof value === "string" ? [name] : []));

/** @type {Set<(state: State) => void>} */
const listeners = new Set();

/** @param {string} text "0.2~0.5", "~0.5" or "0.2~". @returns {[number, number] | null} */
function readRange(text) {
  const ends = text.split("~").map((end, position) => (end.trim() ? Number(end) : position ? Infinity : -Infinity));
  return ends.length !== 2 || ends.some(Number.isNaN) ? null : [ends[0], ends[1]];
}

/** @param {[number, number]} ends @returns {string} */
const writeRange = (ends) => ends.map((end) => (Number.isFinite(end) ? String(end) : "")).join("~");

/** @param {string} hash @returns {State} Anything that cannot be read is left out. */
function parse(hash) {
  const parsed = fresh();
  for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (TEXTS.includes(name)) Object.assign(parsed, { [name]: value });
    else if (name === "desc") parsed.desc = value === "1";
    else if (name === "frame") [parsed.frame, parsed.exact] = [Math.max(0, Math.trunc(Number(value)) || 0), true];
    else if (name === "layers") parsed.layers = value.split(",").filter((layer) => layers.includes(layer));
    else if (name.startsWith("f.")) (parsed.facets[name.slice(2)] ??= []).push(value);
    else if (name.startsWith("r.")) {
      const ends = readRange(value);
      if (ends) parsed.ranges[name.slice(2)] = ends;
    }
  }
  return parsed;
}

/** @param {State} written @returns {string} */
function serialise(written) {
  const params = new URLSearchParams();
  const texts = /** @type {[string, any][]} */ (Object.entries(written).filter(([name]) => TEXTS.includes(name)));
  for (const [name, text] of texts) if (text) params.set(name, text);
  if (written.desc) params.set("desc", "1");
  if (written.clip && (written.frame || written.exact)) params.set("frame", String(written.frame));
  if (written.layers.join() !== USUAL_LAYERS.join()) params.set("layers", written.layers.join(","));
  for (const [name, values] of Object.entries(written.facets)) {
    for (const value of values) params.append(`f.${name}`, value);
  }
  for (const [name, ends] of Object.entries(written.ranges)) params.set(`r.${name}`, writeRange(ends));
  return params.toString();
}

/** The present state, the same object at all times; `go` changes it, and views only read it. */
export const state = parse(location.hash);

/** @param {Partial<State>} changes @returns {State} Another clip opens without a frame of its own. */
const changed = (changes) => ({ ...state, ...("clip" in changes ? { frame: 0, exact: false } : {}), ...changes });

let read = location.hash;

/** @param {State} next */
function enter(next) {
  Object.assign(state, next);
  for (const listener of listeners) listener({ ...state });
}

/**
 * Change the state.
 * @param {Partial<State>} changes
 * @param {{ replace?: boolean }} [options] replace: no new entry in the browser's history (typing, playing).
 */
export function go(changes, { replace = false } = {}) {
  const next = changed(changes),
    url = `#${serialise(next)}`;
  if (url !== (location.hash || "#")) {
    if (replace) history.replaceState(null, "", url);
    else history.pushState(null, "", url);
    read = location.hash;
  }
  enter(next);
}

/** @param {Partial<State>} changes @returns {string} href of a link to the present state with changes. */
export const link = (changes) => `#${serialise(changed(changes))}`;

/** @param {(state: State) => void} listener @returns {() => void} Ends it. */
export function onState(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const moved = () => {
  // popstate and hashchange both come for one step
  if (location.hash === read) return;
  read = location.hash;
  enter(parse(location.hash));
};
addEventListener("popstate", moved);
addEventListener("hashchange", moved);
