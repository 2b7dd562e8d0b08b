"""The report in Firefox, driven by puppeteer over WebDriver BiDi: it opens, filters and plays."""

from __future__ import annotations

import json
import os
import shutil
import signal
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
    run = subprocess.Popen(
        [shutil.which("node"), script, npm, program, url, clip], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    try:
        printed, problems = run.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)  # Firefox as well, which node leaves running
        raise
    assert run.returncode == 0, problems
    seen = json.loads(printed)
    assert seen["faults"] == []
    assert seen["clips"] == 24
    assert seen["filtered"] == 6  # one of four prompts
    assert seen["frames"] >= 3
    assert seen["ended"] == pytest.approx(2.0, abs=0.05)  # 16 frames at 8 a second
