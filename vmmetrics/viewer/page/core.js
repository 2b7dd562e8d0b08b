// Elements, numbers and texts. Everything that comes from data becomes text nodes or attributes, never markup.
"use strict";

window.vm = /** @type {any} */ ({ views: [] });

(() => {
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
   * Make an HTML element.
   * @param {string} tag "div", "div.card", "td.n.muted"
   * @param {Record<string, any>} [properties]
   * @param {...any} children
   * @returns {any}
   */
  vm.h = (tag, properties = {}, ...children) => {
    const [name, ...classes] = tag.split(".");
    const node = document.createElement(name);
    if (classes.length) node.className = classes.join(" ");
    for (const [key, value] of Object.entries(properties)) put(node, key, value);
    append(node, children);
    return node;
  };

  /**
   * Make an SVG element.
   * @param {string} tag
   * @param {Record<string, any>} [properties]
   * @param {...any} children
   * @returns {any}
   */
  vm.svg = (tag, properties = {}, ...children) => {
    const [name, ...classes] = tag.split(".");
    const node = document.createElementNS(SVG, name);
    if (classes.length) node.setAttribute("class", classes.join(" "));
    for (const [key, value] of Object.entries(properties)) put(node, key, value);
    append(node, children);
    return node;
  };

  /** @param {number | null | undefined} value @param {number} [digits] @returns {string} A dash where there is none. */
  vm.fixed = (value, digits = 3) =>
    value === null || value === undefined || Number.isNaN(value) ? "–" : value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");

  /** @param {number | null | undefined} value @returns {string} A score as tables show it. */
  vm.score = (value) =>
    value === null || value === undefined || Number.isNaN(value)
      ? "–"
      : Math.abs(value) <= 1 ? vm.fixed(value, 3) : String(+value.toPrecision(4)).replace("-", "−");

  /** @param {number | null | undefined} value @returns {string} With a sign. */
  vm.signed = (value, digits = 1) =>
    value === null || value === undefined || Number.isNaN(value) ? "–" : (Number(value.toFixed(digits)) > 0 ? "+" : "") + vm.fixed(value, digits);

  /** @param {number | null} p @returns {string} */
  vm.pValue = (p) => (p === null ? "–" : p < 0.001 ? "< 0.001" : vm.fixed(p, 3));

  /** @param {number} n @param {string} noun @returns {string} "1 clip", "1,234 clips" */
  vm.count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;

  /** @param {string} metric @returns {string} CSS colour of a metric, the same everywhere. */
  vm.colour = (metric) => `var(--m-${vm.data.metric(metric)?.colour ?? "own"})`;

  /** @param {() => void} work @returns {() => void} Runs work once per animation frame however often it is called. */
  vm.perFrame = (work) => {
    let asked = false;
    return () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => { asked = false; work(); });
    };
  };

  vm.reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

  /**
   * Save text as a file of the reader's.
   * @param {string} name
   * @param {string} text
   * @param {string} type
   */
  vm.save = (name, text, type) => {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = vm.h("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
})();
