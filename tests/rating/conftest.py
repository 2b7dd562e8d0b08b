"""The browser of the viewer's tests, for the pages of studies."""

from __future__ import annotations

from tests.viewer.conftest import bounded, browser, faults, npm

__all__ = ["bounded", "browser", "faults", "npm"]
