"""The report in Firefox, driven by puppeteer over WebDriver BiDi: it opens, filters and plays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.viewer.conftest import absent

pytestmark = pytest.mark.browser


def test_firefox_opens_filters_and_plays(report: Path, npm: Path) -> None:
    program = os.environ.get("VMMETRICS_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    if program is None:
        absent("no Firefox: install firefox-esr, or set VMMETRICS_FIREFOX")
    script = Path(__file__).with_name("firefox.cjs")
    url = (report / "index.html").as_uri()
    clip = "first/beta/0-a-dog-runs.webm"
    run = subprocess.run(
        [shutil.which("node"), script, npm, program, url, clip], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    seen = json.loads(run.stdout)
    assert seen["faults"] == []
    assert seen["clips"] == 24
    assert seen["filtered"] == 6  # one of four prompts
    assert seen["frames"] >= 3
    assert seen["ended"] == pytest.approx(2.0, abs=0.05)  # 16 frames at 8 a second
