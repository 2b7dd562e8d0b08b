// Navigation: one view at a time, chosen by the state.
"use strict";

(() => {
  /** @type {{ key: string, open: { update(state: State): void, close(): void } } | null} */
  let shown = null;

  const start = () => {
    const main = /** @type {HTMLElement} */ (document.querySelector("main"));
    const links = /** @type {HTMLElement} */ (document.querySelector("nav"));
    const title = /** @type {HTMLElement} */ (document.querySelector("h1"));
    document.title = title.textContent = vm.data.index.title;
    const views = vm.views.filter((view) => view.available());
    const tabs = new Map(views.filter((view) => view.title).map((view) => {
      const tab = vm.h("a", { href: vm.link({ view: view.key }), text: view.title });
      links.append(tab);
      return [view.key, tab];
    }));

    /** @param {State} state */
    const show = (state) => {
      const view = views.find((candidate) => candidate.key === state.view) ?? views[0];
      for (const [key, tab] of tabs) {
        tab.href = vm.link({ view: key });
        if (key === view.key) tab.setAttribute("aria-current", "page");
        else tab.removeAttribute("aria-current");
      }
      if (shown?.key === view.key) return shown.open.update(state);
      shown?.open.close();
      main.replaceChildren();
      main.dataset.view = view.key;
      shown = { key: view.key, open: view.open(main) };
      scrollTo(0, 0);
    };
    document.querySelector(".skip")?.addEventListener("click", (event) => {
      event.preventDefault(); // the hash is the state
      main.focus();
    });
    vm.onState(show);
    show(vm.state);
    document.documentElement.dataset.ready = "1";
  };
  vm.start = start;
})();
