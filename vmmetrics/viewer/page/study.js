// The page of an alignment study: its tables sort, and the reader chooses the theme.

import { ordered } from "./tables.js";
import { themeSwitch } from "./theme.js";

/** @param {HTMLTableCellElement} head Sorts its table by that column: numbers largest first, the next time turned. */
function sortBy(head) {
  const [body] = /** @type {HTMLTableElement} */ (head.closest("table")).tBodies,
    numbers = head.className === "n",
    before = head.getAttribute("aria-sort");
  const down = before ? before === "ascending" : numbers;
  for (const other of head.parentElement?.children ?? []) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (/** @type {HTMLTableRowElement} */ row) => {
    const text = row.cells[head.cellIndex].dataset.key ?? "";
    return text === "" ? null : numbers ? Number(text) : text;
  };
  body.append(...ordered([...body.rows], key, down));
}

for (const button of document.querySelectorAll("th button")) {
  const head = /** @type {HTMLTableCellElement} */ (button.parentElement);
  button.addEventListener("click", () => sortBy(head));
}
document.querySelector("header")?.append(themeSwitch());
