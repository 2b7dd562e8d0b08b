// Light or dark: as the system has it, or as the reader chose.

import { h, select } from "./core.js";

const THEMES = ["system", "light", "dark"];
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @returns {string} "system", "light" or "dark", as chosen in this tab. */
function chosenTheme() {
  try {
    const theme = sessionStorage.getItem("theme") ?? "";
    return THEMES.includes(theme) ? theme : "system";
  } catch {
    return "system"; // no storage on file:// in some browsers
  }
}

let theme = chosenTheme();
const paint = () => {
  document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
};
paint();

/** @param {() => void} [redraw] @returns {HTMLElement} */
export function themeSwitch(redraw = () => {}) {
  const options = THEMES.map((name) => /** @type {[string, string]} */ ([name, name]));
  const change = () => {
    paint();
    redraw();
  };
  dark.addEventListener("change", change);
  const choose = (/** @type {string} */ name) => {
    theme = name;
    try {
      sessionStorage.setItem("theme", theme);
    } catch {
      /* kept in memory */
    }
    change();
  };
  return h("label.theme.small", "Theme ", select(options, theme, choose));
}
