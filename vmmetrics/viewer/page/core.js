// Elements, numbers and texts. Everything that comes from data becomes text nodes or attributes, never markup.

/** @type {View[]} */
export const views = [];
const SVG = "http://www.w3.org/2000/svg";

/**
 * Set a property, attribute, listener ("onclick") or style variable ("--x") of an element.
 * @param {Element} node
 * @param {string} name
 * @param {any} value null and false leave it out.
 */
function put(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (name.startsWith("--")) /** @type {HTMLElement} */ (node).style.setProperty(name, String(value));
  else if (name === "text") node.textContent = String(value);
  else node.setAttribute(name, value === true ? "" : String(value));
}

/**
 * Append children; texts and numbers become text nodes, null and false are left out.
 * @param {Element} node
 * @param {any[]} children
 */
function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Make a function that makes elements.
 * @param {(name: string) => Element} create
 */
const maker =
  (create) =>
  /**
   * Make an element.
   * @param {string} tag "div", "div.card", "td.n.muted"
   * @param {...any} parts Properties in an object of their own, if any, then children.
   * @returns {any}
   */
  (tag, ...parts) => {
    const [name, ...classes] = tag.split(".");
    const node = create(name);
    if (classes.length) node.setAttribute("class", classes.join(" "));
    const properties = parts[0]?.constructor === Object ? parts.shift() : {};
    for (const [key, value] of Object.entries(properties)) put(node, key, value);
    append(node, parts);
    return node;
  };

export const h = maker((name) => document.createElement(name));
export const svg = maker((name) => document.createElementNS(SVG, name));

/** @param {any[]} items What is null or false is left out. @param {string} [classes] @returns {any} */
export const list = (items, classes = "") =>
  h(
    `ul${classes}`,
    items.filter(Boolean).map((item) => h("li", item)),
  );

/**
 * Make a button.
 * @param {any} text
 * @param {() => void} act
 * @param {Record<string, any>} [more] Properties.
 */
export const button = (text, act, more = {}) => h("button", { type: "button", onclick: act, ...more }, text);

/**
 * Make a list to choose from.
 * @param {[string | number, any][]} options Values and texts.
 * @param {string | number} chosen
 * @param {(value: string) => void} choose
 * @param {Record<string, any>} [more] Properties.
 */
export const select = (options, chosen, choose, more = {}) =>
  h(
    "select",
    { onchange: (/** @type {any} */ event) => choose(event.target.value), ...more },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );

/**
 * @param {number | null | undefined} value
 * @param {number} [digits]
 * @returns {string} A dash where there is none.
 */
export const fixed = (value, digits = 3) =>
  value === null || value === undefined || Number.isNaN(value)
    ? "–"
    : value
        .toFixed(digits)
        .replace(/^-(?=[0.]*$)/, "")
        .replace("-", "−");

/** @param {number | null | undefined} value @returns {string} A score as tables show it. */
export const score = (value) =>
  value === null || value === undefined || Number.isNaN(value)
    ? "–"
    : Math.abs(value) <= 1
      ? fixed(value, 3)
      : String(+value.toPrecision(4)).replace("-", "−");

/** @param {number | null | undefined} value @returns {string} With a sign. */
export const signed = (value, digits = 1) =>
  value === null || value === undefined || Number.isNaN(value)
    ? "–"
    : (Number(value.toFixed(digits)) > 0 ? "+" : "") + fixed(value, digits);

/** @param {number | null} p @returns {string} */
export const pValue = (p) => (p === null ? "–" : p < 0.001 ? "< 0.001" : fixed(p, 3));

/** @param {number} n @param {string} noun @returns {string} "1 clip", "1,234 clips" */
export const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

/**
 * @param {() => void} work
 * @returns {() => void} Runs work once per animation frame however often it is called.
 */
export const perFrame = (work) => {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
};

export const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Save text as a file of the reader's.
 * @param {string} name
 * @param {string} text
 * @param {string} type
 */
export const save = (name, text, type) => {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

/**
 * Copy a text, or where the browser does not let it be written show it to be copied.
 * @param {string} text
 * @param {HTMLElement} status Says so.
 * @param {{ label: string, done: string }} words Name of the text, and what is said once it is copied.
 */
export async function copyText(text, status, { label, done }) {
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = done;
  } catch {
    const field = h("input", { readonly: true, value: text, "aria-label": label });
    status.replaceChildren(field);
    field.select();
    if (document.execCommand("copy")) status.textContent = done;
  }
}

/** Copy the address of the page. @param {HTMLElement} status Says so. */
export const copyLink = (status) =>
  copyText(location.href, status, { label: "Link to this frame", done: "Link copied" });
