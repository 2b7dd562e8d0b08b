// What the URL holds. A link reproduces the view, the filter, the clip and the frame.
"use strict";

(() => {
  const TEXTS = /** @type {const} */ (["view", "q", "where", "sort", "clip", "metric", "a", "b", "pair", "table", "other", "order", "wipe"]);
  /** @type {Set<(state: State) => void>} */
  const listeners = new Set();
  const LAYERS = ["boxes", "masks", "tracks", "skeletons", "saliency"];
  const USUAL_LAYERS = LAYERS.slice(0, 4);

  /** @returns {State} */
  const fresh = () => ({
    view: "", q: "", where: "", facets: Object.create(null), ranges: Object.create(null), sort: "", desc: false, clip: "",
    frame: 0, exact: false, layers: [...USUAL_LAYERS], metric: "", a: "", b: "", pair: "", table: "", other: "", order: "", wipe: "",
  });

  /** @param {string} text "0.2~0.5", "~0.5" or "0.2~". @returns {[number, number] | null} */
  function readRange(text) {
    const [low, high, ...more] = text.split("~").map((end, position) => (end.trim() ? Number(end) : position ? Infinity : -Infinity));
    return high === undefined || more.length || Number.isNaN(low) || Number.isNaN(high) ? null : [low, high];
  }

  /** @param {[number, number]} ends @returns {string} */
  const writeRange = (ends) => ends.map((end) => (Number.isFinite(end) ? String(end) : "")).join("~");

  /** @param {string} hash @returns {State} Anything that cannot be read is left out. */
  function parse(hash) {
    const state = fresh();
    for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
      if (/** @type {readonly string[]} */ (TEXTS).includes(name)) /** @type {any} */ (state)[name] = value;
      else if (name === "desc") state.desc = value === "1";
      else if (name === "frame") [state.frame, state.exact] = [Math.max(0, Math.trunc(Number(value)) || 0), true];
      else if (name === "layers") state.layers = value.split(",").filter((layer) => LAYERS.includes(layer));
      else if (name.startsWith("f.")) (state.facets[name.slice(2)] ??= []).push(value);
      else if (name.startsWith("r.")) {
        const ends = readRange(value);
        if (ends) state.ranges[name.slice(2)] = ends;
      }
    }
    return state;
  }

  /** @param {State} state @returns {string} */
  function serialise(state) {
    const params = new URLSearchParams();
    for (const name of TEXTS) if (state[name]) params.set(name, state[name]);
    if (state.desc) params.set("desc", "1");
    if (state.clip && (state.frame || state.exact)) params.set("frame", String(state.frame));
    if (state.layers.join() !== USUAL_LAYERS.join()) params.set("layers", state.layers.join(","));
    for (const [name, values] of Object.entries(state.facets)) for (const value of values) params.append(`f.${name}`, value);
    for (const [name, ends] of Object.entries(state.ranges)) params.set(`r.${name}`, writeRange(ends));
    return params.toString();
  }

  /** @type {State} */
  vm.state = parse(location.hash);
  vm.layers = LAYERS;

  /** @param {Partial<State>} changes @returns {State} Another clip opens without a frame of its own. */
  const changed = (changes) => ({ ...vm.state, ...("clip" in changes ? { frame: 0, exact: false } : {}), ...changes });

  /**
   * Change the state.
   * @param {Partial<State>} changes
   * @param {{ replace?: boolean }} [options] replace: no new entry in the browser's history (typing, playing).
   */
  vm.go = (changes, options = {}) => {
    vm.state = changed(changes);
    const url = `#${serialise(vm.state)}`;
    if (url !== (location.hash || "#")) {
      if (options.replace) history.replaceState(null, "", url);
      else history.pushState(null, "", url);
      read = location.hash;
    }
    for (const listener of listeners) listener(vm.state);
  };

  /** @param {Partial<State>} changes @returns {string} href of a link to the present state with changes. */
  vm.link = (changes) => `#${serialise(changed(changes))}`;

  /** @param {(state: State) => void} listener @returns {() => void} Ends it. */
  vm.onState = (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };

  let read = location.hash;
  const moved = () => { // popstate and hashchange both come for one step
    if (location.hash === read) return;
    vm.state = parse(location.hash);
    read = location.hash;
    for (const listener of listeners) listener(vm.state);
  };
  addEventListener("popstate", moved);
  addEventListener("hashchange", moved);
})();
