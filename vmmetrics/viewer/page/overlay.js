"use strict";

(() => {
  vm.decodeOverlay = (/** @type {StoredOverlay} */ stored) => ({ overlay: null, error: stored ? null : "empty" });
})();
