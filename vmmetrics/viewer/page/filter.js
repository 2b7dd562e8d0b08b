// Which clips pass the filter, and in which order. Everything is computed once per column, filter part and sort order.

import { score } from "./core.js";
import { data } from "./data.js";
import { readExpression, unquote } from "./expression.js";
import { state as current } from "./state.js";

const MOST_MASKS = 48,
  MOST_RESULTS = 12;
/** @type {Record<string, string>} */
const SORTS = { name: "clip" };
/** @type {Record<string, string>} */
const TITLES = { run: "Run", model: "Model", event: "Event", error: "Failed" };

/** Fields that expressions write otherwise. @type {[string, string][]} */
const PREFIXES = [
  ["missing.index", "missing.motion_index"],
  ["index", "motion_index"],
  ["rating.", "rating:"],
  ["metric.", ""],
];
const PLAIN = /^[\p{L}_][\p{L}\p{N}_-]*$/u;

/** @typedef {{ key: string, facet: string, make: () => Uint8Array }} Part */
/** @typedef {{ parts: Part[], failures: Uint16Array, last: Int32Array }} Passing */

class Cache {
  /** @param {ReportIndex} index */
  constructor(index) {
    this.index = index;
    /** @type {Map<string, Column | null>} */
    this.columns = new Map();
    /** @type {Map<string, TextColumn>} */
    this.facets = new Map();
    /** @type {Map<string, Uint8Array>} */
    this.masks = new Map();
    /** @type {Map<string, Int32Array>} */
    this.orders = new Map();
    /** @type {Map<string, Passing>} */
    this.passing = new Map();
    /** @type {Map<string, Int32Array>} */
    this.rows = new Map();
    /** @type {Map<string, ReturnType<typeof readExpression>>} */
    this.expressions = new Map();
    /** Last expression without a mistake. */
    this.where = "";
  }
}

/** @type {Cache | null} */
let cache = null;
const cached = () => (cache?.index === data.index ? cache : (cache = new Cache(data.index)));

/**
 * @template T
 * @param {Map<string, T>} map
 * @param {string} key
 * @param {() => T} make
 * @param {number} [most] The ones made first are dropped.
 * @returns {T}
 */
function remember(map, key, make, most = Infinity) {
  let value = map.get(key);
  if (value === undefined) {
    map.set(key, (value = make()));
    if (map.size > most) map.delete(/** @type {string} */ (map.keys().next().value));
  }
  return value;
}

/** @param {string[]} values @param {ArrayLike<number>} codes @returns {TextColumn} */
const coded = (values, codes) => ({ kind: "text", values, codes: Int32Array.from(codes), lists: [] });

/** @param {ArrayLike<number | null>} values @returns {NumberColumn} */
const numeric = (values) => ({ kind: "number", at: Float64Array.from(values, (value) => value ?? NaN) });

/** @returns {TextColumn} Reasons of events, those of several metrics joined. */
function eventColumn() {
  const { events, clips } = data.index;
  const values = [...new Set(events.map((event) => event.reason))];
  const code = new Map(values.map((value, position) => [value, position]));
  const codes = events.map((event) => code.get(event.reason) ?? -1);
  return {
    kind: "text",
    values,
    codes: null,
    lists: clips.events.map((list) => [...new Set(list.map((event) => codes[event]))]),
  };
}

/** @param {string} metric @returns {TextColumn} Reasons why there is no score. */
function missingColumn(metric) {
  const { n, index } = data;
  const scores = data.scores(metric),
    entries = index.clips.missing[metric] ?? {},
    failed = index.clips.failed;
  const codes = new Int32Array(n);
  for (let row = 0; row < n; row++) {
    if (!Number.isNaN(scores[row])) codes[row] = -1;
    else codes[row] = failed[row] >= 0 ? failed[row] : (entries[row]?.reason ?? index.reasons.length);
  }
  return coded([...index.reasons, "not scored"], codes);
}

/** @param {string} name @returns {Column | null} */
function tagColumn(name) {
  const tag = data.index.tags.find((candidate) => candidate.name === name);
  if (!tag) return null;
  const values = data.index.clips.tags[name];
  return tag.values
    ? coded(
        tag.values,
        values.map((value) => value ?? -1),
      )
    : numeric(values);
}

/** @param {string} name @returns {Column | null} */
function makeColumn(name) {
  const { index } = data,
    { clips } = index;
  switch (name) {
    case "clip":
      return coded(
        clips.name,
        clips.name.map((_, row) => row),
      );
    case "run":
      return coded(
        index.runs.map((run) => run.name),
        clips.run,
      );
    case "model":
      return coded(index.models, clips.model);
    case "prompt":
      return coded(index.prompts, clips.prompt);
    case "error":
      return coded(index.reasons, clips.failed);
    case "event":
      return eventColumn();
    case "frames":
      return numeric(clips.frames);
    case "fps":
      return numeric(clips.fps);
  }
  if (data.metric(name)) return { kind: "number", at: data.scores(name) };
  if (name.startsWith("missing.") && data.metric(name.slice(8))) return missingColumn(name.slice(8));
  return name.startsWith("tag.") ? tagColumn(name.slice(4)) : null;
}

/**
 * Return a field's values: "clip", "run", "model", "prompt", "error", "event", "frames", "fps", a metric,
 * "missing.<metric>", "tag.<name>".
 * @param {string} name
 * @returns {Column | null}
 */
export const columnOf = (name) => remember(cached().columns, name, () => makeColumn(name));

/** @param {string} key Of a metric. @returns {string} The field in expressions. */
export const fieldOf = (key) => {
  if (key === "motion_index" || PLAIN.test(key)) return key.replace(/^motion_index$/, "index");
  const [written, name] = key.startsWith("rating:") ? ["rating.", key.slice(7)] : ["metric.", key];
  return written + (PLAIN.test(name) ? name : JSON.stringify(name));
};

/** @param {string} field As an expression has it. @returns {Column | null} */
function lookup(field) {
  const dot = field.indexOf(".");
  const name = dot >= 0 && field[dot + 1] === '"' ? field.slice(0, dot + 1) + unquote(field.slice(dot + 1)) : field;
  for (const [written, key] of PREFIXES) {
    const match = name.startsWith(written) ? columnOf(key + name.slice(written.length)) : null;
    if (match) return match;
  }
  return columnOf(name) ?? columnOf(name.toLowerCase()) ?? columnOf(`tag.${name}`);
}

/**
 * @param {string} where
 * @returns {{ test: ((row: number) => boolean) | null, error: { message: string, at: number } | null }}
 */
const expression = (where) => remember(cached().expressions, where, () => readExpression(where, lookup), MOST_MASKS);

/**
 * @param {State} [state]
 * @returns {{ message: string, at: number } | null} What is wrong with the expression.
 */
export const whereError = (state = current) => (state.where.trim() ? expression(state.where).error : null);

/** @param {State} state @returns {string} The expression, or the last one without a mistake. */
function goodWhere(state) {
  const all = cached();
  if (!whereError(state)) all.where = state.where.trim();
  return all.where;
}

/** @param {(row: number) => boolean} test @returns {Uint8Array} */
function maskOf(test) {
  const mask = new Uint8Array(data.n);
  for (let row = 0; row < mask.length; row++) mask[row] = test(row) ? 1 : 0;
  return mask;
}

/**
 * @param {string} word In lower case.
 * @returns {Uint8Array} Clips with the word in name, model, prompt or a reason.
 */
function wordMask(word) {
  const hits = ["clip", "model", "prompt", "event", ...data.index.metrics.map(({ key }) => `missing.${key}`)]
    .map((name) => {
      const { values, codes, lists } = /** @type {TextColumn} */ (columnOf(name));
      const hit = lowered(values).map((value) => value.includes(word));
      return hit.includes(true) ? { hit, codes, lists } : null;
    })
    .filter((field) => field !== null);
  return maskOf((row) =>
    hits.some(({ hit, codes, lists }) =>
      codes ? codes[row] >= 0 && hit[codes[row]] : lists[row].some((code) => hit[code]),
    ),
  );
}

/** @type {WeakMap<string[], string[]>} */
const lower = new WeakMap();
/** @param {string[]} values @returns {string[]} */
function lowered(values) {
  let texts = lower.get(values);
  if (!texts) lower.set(values, (texts = values.map((value) => value.toLowerCase())));
  return texts;
}

/** @param {string} name @returns {TextColumn | null} Numbers as texts. */
export const facetColumn = (name) => {
  const column = /** @type {Column | null} */ (columnOf(name));
  if (!column || column.kind === "text") return column;
  return remember(cached().facets, name, () => {
    const numbers = [...new Set(column.at)].filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
    const code = new Map(numbers.map((value, position) => [value, position]));
    return coded(
      numbers.map(String),
      Array.from(column.at, (value) => code.get(value) ?? -1),
    );
  });
};

/**
 * @param {string} name
 * @param {string[]} chosen "" stands for clips without a value.
 * @returns {Uint8Array}
 */
function facetMask(name, chosen) {
  const column = facetColumn(name);
  if (!column) return new Uint8Array(data.n);
  const hit = column.values.map((value) => chosen.includes(value)),
    none = chosen.includes("");
  const { codes, lists } = column;
  return maskOf(
    codes
      ? (row) => (codes[row] < 0 ? none : hit[codes[row]])
      : (row) => (lists[row].length ? lists[row].some((code) => hit[code]) : none),
  );
}

/** @param {string} name @param {[number, number]} ends @returns {Uint8Array} */
function rangeMask(name, [low, high]) {
  const column = /** @type {Column | null} */ (columnOf(name));
  if (column?.kind !== "number") return new Uint8Array(data.n);
  return maskOf((row) => column.at[row] >= low && column.at[row] <= high);
}

/** @param {State} state @returns {Part[]} */
function partsOf(state) {
  /** @type {Part[]} */
  const parts = [];
  for (const word of new Set(state.q.toLowerCase().split(/\s+/).filter(Boolean))) {
    parts.push({ key: `q ${word}`, facet: "", make: () => wordMask(word) });
  }
  const where = goodWhere(state);
  if (where)
    parts.push({ key: `where ${where}`, facet: "", make: () => maskOf(expression(where).test ?? (() => true)) });
  for (const [name, chosen] of Object.entries(state.facets)) {
    if (chosen.length)
      parts.push({ key: `facet ${JSON.stringify([name, chosen])}`, facet: name, make: () => facetMask(name, chosen) });
  }
  for (const [name, ends] of Object.entries(state.ranges)) {
    parts.push({ key: `range ${name} ${ends.join("~")}`, facet: "", make: () => rangeMask(name, ends) });
  }
  return parts;
}

/**
 * @param {State} state
 * @returns {Passing} How many parts of the filter each clip fails, and the last that it fails.
 */
function passing(state) {
  const all = cached(),
    parts = partsOf(state);
  return remember(
    all.passing,
    parts.map((part) => part.key).join("\n"),
    () => {
      const failures = new Uint16Array(data.n),
        last = new Int32Array(data.n).fill(-1);
      parts.forEach((part, position) => {
        const mask = remember(all.masks, part.key, part.make, MOST_MASKS);
        for (let row = 0; row < mask.length; row++)
          if (!mask[row]) {
            failures[row]++;
            last[row] = position;
          }
      });
      return { parts, failures, last };
    },
    MOST_RESULTS,
  );
}

/**
 * @param {TextColumn} column
 * @returns {Float64Array} Rank of each text, numbers in it by size; NaN where missing.
 */
function ranks({ values, codes }) {
  const keys = values.map((value) => value.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(12, "0")));
  const order = keys.map((_, code) => code).sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0));
  const rank = new Float64Array(values.length);
  order.forEach((code, position) => {
    rank[code] = position && keys[code] === keys[order[position - 1]] ? rank[order[position - 1]] : position;
  });
  return Float64Array.from(codes ?? [], (code) => (code < 0 ? NaN : rank[code]));
}

/** @param {string} sort @param {boolean} desc @returns {Int32Array} All clips, missing values last. */
function orderOf(sort, desc) {
  const column = /** @type {Column | null} */ (sort ? columnOf(SORTS[sort] ?? sort) : null);
  const rows = Int32Array.from({ length: data.n }, (_, row) => row);
  if (!column || (column.kind === "text" && !column.codes)) return desc && !sort ? rows.reverse() : rows;
  const values = column.kind === "number" ? column.at : ranks(column);
  const present = rows.filter((row) => !Number.isNaN(values[row]));
  present.sort(desc ? (a, b) => values[b] - values[a] || a - b : (a, b) => values[a] - values[b] || a - b);
  const missing = rows.filter((row) => Number.isNaN(values[row]));
  rows.set(present);
  rows.set(missing, present.length);
  return rows;
}

/**
 * Return the clips that pass the filter, sorted.
 * @param {State} [state]
 * @returns {Int32Array}
 */
export const rows = (state = current) => {
  const all = cached(),
    { parts, failures } = passing(state);
  const key = [state.sort, state.desc, ...parts.map((part) => part.key)].join("\n");
  return remember(
    all.rows,
    key,
    () => {
      const order = remember(
        all.orders,
        `${state.desc} ${state.sort}`,
        () => orderOf(state.sort, state.desc),
        MOST_RESULTS,
      );
      return parts.length ? order.filter((row) => !failures[row]) : order;
    },
    MOST_RESULTS,
  );
};

/** @param {State} [state] @returns {number} Clips that pass the filter. */
export const matchCount = (state = current) => rows(state).length;

/**
 * Count the clips of each value of a facet that pass all other parts of the filter.
 * @param {string} name
 * @param {State} [state]
 * @returns {{ counts: Int32Array, none: number }} Counts by position in the values of `facetColumn`.
 */
export const facetCounts = (name, state = current) => {
  const { parts, failures, last } = passing(state);
  const { values, codes, lists } = /** @type {TextColumn} */ (facetColumn(name));
  const counts = new Int32Array(values.length),
    own = parts.findIndex((part) => part.facet === name);
  let none = 0;
  for (let row = 0; row < failures.length; row++) {
    if (failures[row] && !(failures[row] === 1 && last[row] === own)) continue;
    if (codes ? codes[row] < 0 : !lists[row].length) none++;
    else if (codes) counts[codes[row]]++;
    else for (const code of lists[row]) counts[code]++;
  }
  return { counts, none };
};

/** Changes of the state that remove the filter. */
export const noFilter = () => ({ q: "", where: "", facets: {}, ranges: {} });

/** @param {string} name @returns {string} A field as readers see it. */
export const fieldTitle = (name) => {
  if (name.startsWith("missing.")) return `${data.metric(name.slice(8))?.label ?? name.slice(8)} missing`;
  if (name.startsWith("tag.")) return name.slice(4);
  return data.metric(name)?.label ?? TITLES[name] ?? name;
};

/** @param {[number, number]} ends @returns {string} */
export const rangeText = ([low, high]) =>
  low === -Infinity
    ? `at most ${score(high)}`
    : high === Infinity
      ? `at least ${score(low)}`
      : `${score(low)} to ${score(high)}`;

/** @param {State} [state] @returns {string} The filter in short; "" without one. */
export const filterText = (state = current) => {
  const texts = state.q.trim() ? [`“${state.q.trim()}”`] : [];
  if (goodWhere(state)) texts.push(goodWhere(state));
  for (const [name, chosen] of Object.entries(state.facets)) {
    if (chosen.length) texts.push(`${fieldTitle(name)}: ${chosen.map((value) => value || "none").join(" or ")}`);
  }
  for (const [name, ends] of Object.entries(state.ranges)) texts.push(`${fieldTitle(name)} ${rangeText(ends)}`);
  return texts.join(", ");
};
