// Clips as CSV.

import { save } from "./core.js";
import { data } from "./data.js";
import { rows } from "./filter.js";

/**
 * @param {string | number} value
 * @returns {string} A cell as `csv_text` in Python writes it: no text is taken for a formula.
 */
function cell(value) {
  if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
  const text = /^(?:[=+\-@\t\r]|'(?:['=+\-@\t\r]))/.test(value) ? `'${value}` : value;
  return /[,"\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {Int32Array | number[]} [listed] @returns {string} Clips as CSV (RFC 4180, lines end in LF). */
export const csv = (listed = rows()) => {
  const { metrics, tags } = data.index;
  const header = [
    "clip",
    "model",
    "run",
    ...metrics.map(({ key }) => key),
    ...metrics.map(({ key }) => `missing.${key}`),
    "events",
    "prompt",
    ...tags.map(({ name }) => `tag.${name}`),
  ];
  const lines = Array.from(listed, (row) => [
    data.name(row),
    data.model(row),
    data.run(row).name,
    ...metrics.map(({ key }) => data.scores(key)[row]),
    ...metrics.map(({ key }) => data.missing(key, row).reason),
    data
      .events(row)
      .map(({ metric, reason }) => `${data.metric(metric)?.label ?? metric}: ${reason}`)
      .join("; "),
    data.prompt(row),
    ...tags.map(({ name }) => data.tag(name, row) ?? ""),
  ]);
  return [header, ...lines].map((line) => `${line.map(cell).join(",")}\n`).join("");
};

/** Save the clips that pass the filter, in their order, as CSV. */
export const exportCsv = () => save("clips.csv", csv(), "text/csv;charset=utf-8");
