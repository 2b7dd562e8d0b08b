"""The report in Firefox, driven by puppeteer over WebDriver BiDi: it opens, filters and plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viewer.conftest import in_firefox

pytestmark = pytest.mark.browser


def test_firefox_opens_filters_and_plays(report: Path, npm: Path) -> None:
    url, clip = (report / "index.html").as_uri(), "first/beta/0-a-dog-runs.webm"
    seen = in_firefox(Path(__file__).with_name("firefox.cjs"), npm, url, clip)
    assert seen["faults"] == []
    assert seen["clips"] == 24
    assert seen["filtered"] == 6  # one of four prompts
    assert seen["frames"] >= 3
    assert seen["ended"] == pytest.approx(2.0, abs=0.05)  # 16 frames at 8 a second
