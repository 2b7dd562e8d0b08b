"""Files of others that the page holds are those that NOTICE names."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
VENDORED = ROOT / "vmmetrics" / "viewer" / "page" / "_vendor"


def test_hashes_are_those_of_the_notice() -> None:
    (entry,) = re.findall(
        r"^vmmetrics/viewer/page/_vendor/\*\*\n((?: {4}.*\n)+)", (ROOT / "NOTICE").read_text("utf-8"), re.M
    )
    stated = dict(re.findall(r"^    (\S+) +([0-9a-f]{64})$", entry, re.M))
    assert stated == {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in VENDORED.iterdir()}


def test_the_version_is_that_of_the_notice() -> None:
    (version,) = re.findall(r"uPlot (\d+\.\d+\.\d+) \(npm", (ROOT / "NOTICE").read_text("utf-8"))
    assert f"(v{version})" in (VENDORED / "uPlot.iife.min.js").read_text("utf-8")[:200]
