// The index, decoded, and details and overlays that are loaded when a clip is opened.

import { fixed, h, score } from "./core.js";

/** Key of the index with that of collapsed clips as 0. */
export const OR_ZERO = "motion_index_or_0";
const KEPT_SHARDS = 6,
  KEPT_OVERLAYS = 8;
const MOST_BYTES = 64 * 2 ** 20; // of an overlay when unpacked

/**
 * Values by key, the ones used longest ago dropped.
 * @template T
 */
class Recent {
  /** @param {number} limit */
  constructor(limit) {
    this.limit = limit;
    /** @type {Map<number, Promise<T>>} */
    this.items = new Map();
  }

  /** @param {number} key @param {() => Promise<T>} load @returns {Promise<T>} */
  get(key, load) {
    const item = this.items.get(key) ?? load();
    this.items.delete(key);
    this.items.set(key, item);
    item.catch(() => this.items.delete(key));
    for (const oldest of this.items.keys()) {
      if (this.items.size <= this.limit) break;
      this.items.delete(oldest);
    }
    return item;
  }
}

/** @type {Map<string, (value: any) => void>} Waiting for the script that calls vmReport. */
const waiting = new Map();

/**
 * Load a script that calls vmReport once; fetch() is refused on file://.
 * @param {string} key
 * @param {string} url
 * @returns {Promise<any>}
 */
function loadScript(key, url) {
  return new Promise((resolve, reject) => {
    const script = h("script", { src: url });
    const end = () => {
      waiting.delete(key);
      script.remove();
    };
    waiting.set(key, (value) => {
      end();
      resolve(value);
    });
    script.onerror = () => {
      end();
      reject(new Error(`${url} is missing: was the folder moved without it?`));
    };
    script.onload = () => {
      end();
      reject(new Error(`${url} is damaged: write the report again`));
    }; // unless it has called
    document.head.append(script);
  });
}

/** @param {string} base64 @returns {Promise<any>} The JSON object in gzipped bytes. */
async function unpack(base64) {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST_BYTES) throw new Error("the overlay is over 64 MB");
    parts.push(value);
  }
  return JSON.parse(await new Blob(/** @type {BlobPart[]} */ (parts)).text());
}

/**
 * @param {number} half Half-width of an interval.
 * @returns {number} Decimals up to its first digit, 1 to 4.
 */
const decimals = (half) => Math.min(4, Math.max(1, Math.ceil(-Math.log10(half) - 1e-9)));

class Data {
  /** @type {ReportIndex} */
  index = /** @type {any} */ (null);
  n = 0;
  /** @type {Map<string, MetricInfo>} */
  metrics = new Map();
  /** @type {Map<string, Float64Array>} */
  columns = new Map();
  /** Rows of collapsed clips. @type {Set<number>} */
  collapsed = new Set();
  /** @type {Map<string, number> | null} */
  rows = null;
  /** @type {Recent<ClipDetail[]>} */
  shards = new Recent(KEPT_SHARDS);
  /** @type {Recent<StoredOverlay>} */
  overlays = new Recent(KEPT_OVERLAYS);

  /** @param {ReportIndex} index */
  load(index) {
    Object.assign(this, new Data());
    this.index = index;
    this.n = index.clips.name.length;
    this.metrics = new Map(index.metrics.map((metric) => [metric.key, metric]));
    for (const metric of index.metrics) {
      const column = index.clips.scores[metric.key] ?? [];
      this.columns.set(
        metric.key,
        Float64Array.from({ length: this.n }, (_, row) => column[row] ?? NaN),
      );
    }
    this.collapsed = new Set(index.clips.collapsed ?? []);
    const orZero = Float64Array.from(this.scores("motion_index"), (score, row) =>
      this.collapsed.has(row) ? 0 : score,
    );
    this.columns.set(OR_ZERO, orZero);
  }

  /** @param {string} key */
  metric(key) {
    return this.metrics.get(key);
  }

  /** @param {string} metric */
  scores(metric) {
    return this.columns.get(metric) ?? new Float64Array(this.n).fill(NaN);
  }

  /** @param {string} metric @param {number} row */
  missing(metric, row) {
    const { clips, reasons } = this.index;
    if (!Number.isNaN(this.scores(metric)[row])) return { reason: "", kind: "" };
    if (clips.failed[row] >= 0) return { reason: reasons[clips.failed[row]], kind: "failed" };
    const entry = clips.missing[metric === OR_ZERO ? "motion_index" : metric]?.[row];
    return entry ? { reason: reasons[entry.reason], kind: entry.kind } : { reason: "not scored", kind: "not scored" };
  }

  /** @param {string} metric @param {number} row @returns {string} */
  shown(metric, row) {
    if (metric === OR_ZERO) return this.collapsed.has(row) ? "0 (collapsed)" : this.shown("motion_index", row);
    const place = this.index.clips.places?.[metric]?.[row],
      value = this.scores(metric)[row];
    return place ? fixed(value, decimals(place[2])) : score(value);
  }

  /** @param {string} metric @param {number} row */
  place(metric, row) {
    const place = this.index.clips.places?.[metric]?.[row];
    if (!place) return "";
    return `below ${place[0]} of ${place[1]} real sources`;
  }

  /** @param {string} metric @param {number} row */
  interval(metric, row) {
    const half = this.index.clips.places?.[metric]?.[row]?.[2],
      shown = this.shown(metric, row);
    return half ? `${shown} ± ${fixed(half, decimals(half))}` : shown;
  }

  /** @param {number} row */
  name(row) {
    return this.index.clips.name[row];
  }

  /** @param {number} row */
  id(row) {
    return `${this.run(row).name}/${this.name(row)}`;
  }

  /** @param {string} id */
  find(id) {
    this.rows ??= new Map(Array.from({ length: this.n }, (_, row) => [this.id(row), row]));
    return this.rows.get(id) ?? -1;
  }

  /** @param {number} row */
  model(row) {
    return this.index.models[this.index.clips.model[row]] ?? "";
  }

  /** @param {number} row */
  run(row) {
    return this.index.runs[this.index.clips.run[row]];
  }

  /** @param {number} row */
  prompt(row) {
    return this.index.prompts[this.index.clips.prompt[row]] ?? "";
  }

  /** @param {string} name @param {number} row */
  tag(name, row) {
    const value = this.index.clips.tags[name]?.[row] ?? null;
    if (value === null) return null;
    return this.index.tags.find((tag) => tag.name === name)?.values?.[value] ?? value;
  }

  /** @param {number} row */
  events(row) {
    return this.index.clips.events[row].map((number) => this.index.events[number]);
  }

  /** @param {number} row @returns {Media} */
  media(row) {
    const place = this.index.clips.media[row];
    if (typeof place === "string") return { url: place, reason: null };
    if (place < 0) return { url: null, reason: this.index.reasons[-1 - place] };
    return { url: this.index.bases[place] + this.name(row).split("/").map(encodeURIComponent).join("/"), reason: null };
  }

  /** @param {number} row */
  poster(row) {
    if (!this.index.clips.poster[row]) return null;
    return inline?.posters?.[row] ?? `posters/${String(row).padStart(6, "0")}.webp`;
  }

  /** @param {number} row */
  frames(row) {
    return this.index.clips.frames[row] ?? 0;
  }

  /** @param {number} row */
  fps(row) {
    return this.index.clips.fps[row] ?? 0;
  }

  /** @param {number} row @returns {Promise<ClipDetail>} */
  async detail(row) {
    const shard = Math.floor(row / this.index.shard);
    const url = `data/detail-${String(shard).padStart(3, "0")}.js`;
    const load = () => (inline?.details ? Promise.resolve(inline.details[shard]) : loadScript(`detail ${shard}`, url));
    return (await this.shards.get(shard, load))[row - shard * this.index.shard];
  }

  /** @param {number} row @returns {Promise<StoredOverlay | null>} */
  async overlay(row) {
    if (!this.index.clips.overlay[row]) return null;
    const url = `overlays/${String(row).padStart(6, "0")}.js`;
    const load = async () => unpack(inline?.overlays ? inline.overlays[row] : await loadScript(`overlay ${row}`, url));
    return this.overlays.get(row, load);
  }
}

export const data = new Data();
/** Parts of a page in one file. @type {InlineData | null} */
let inline = null;

/** @param {string} metric @returns {string} CSS colour of a metric, the same everywhere. */
export const colour = (metric) => `var(--m-${data.metric(metric)?.colour ?? "own"})`;

window.vmReport = {
  index: (index) => data.load(index),
  inline: (values) => {
    inline = values;
  },
  start: () => {}, // main.js
  detail: (shard, clips) => waiting.get(`detail ${shard}`)?.(clips),
  overlay: (row, gzipped) => waiting.get(`overlay ${row}`)?.(gzipped),
};
