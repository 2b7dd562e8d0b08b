// Two models or runs on the same prompts.
"use strict";

(() => {
  vm.views.push({
    key: "compare",
    title: "Compare",
    available: () => new Set(vm.data.index.clips.model.map((model, row) => `${vm.data.index.clips.run[row]}/${model}`)).size > 1,
    open: (root) => {
      root.append(vm.h("h2", { text: "Compare" }));
      return { update: () => {}, close: () => {} };
    },
  });
})();
