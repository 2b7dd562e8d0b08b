"use strict";

(() => {
  vm.views.push({
    key: "clip", title: "", available: () => true,
    open: (root) => {
      const player = vm.player(Math.max(0, vm.data.find(vm.state.clip)), { controls: true });
      root.append(player.root);
      vm.test = player;
      return { update() {}, close() { player.destroy(); } };
    },
  });
})();
