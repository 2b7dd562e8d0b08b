"""A study in Firefox, driven by puppeteer over WebDriver BiDi: clips play to their end, every answer arrives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rating.made import study
from tests.rating.test_page import Served
from tests.viewer.conftest import in_firefox
from vmmetrics.rating.pack import write_packs

pytestmark = pytest.mark.browser


def test_an_offline_page_in_firefox(npm: Path, tmp_path: Path) -> None:
    made = study(tmp_path, "pair", prompts=2, models=2, items=2, gold=1, traps=0, repeats=0, training=1)
    write_packs(made, tmp_path / "pages", 1)
    page = (tmp_path / "pages" / "rater-1.html").as_uri()
    seen = in_firefox(Path(__file__).with_name("firefox.cjs"), npm, page, seconds=120)
    assert seen == {"answered": 4, "faults": []}  # practice included


def test_a_whole_study_in_firefox(npm: Path, tmp_path: Path) -> None:
    served = Served(study(tmp_path, "acr", prompts=2, models=2, items=3, gold=1, traps=0, repeats=0, training=1))
    try:
        seen = in_firefox(Path(__file__).with_name("firefox.cjs"), npm, served.link, seconds=120)
    finally:
        served.process.kill()
        served.process.communicate()
    assert seen["faults"] == []
    session = served.session
    assert session.finished
    assert len(session.answers) == 4  # the items and a gold one
    assert all(clip.ended and clip.frames for answer in session.answers.values() for clip in answer.clips)
