"""The page's scripts agree with their types (``page/types.d.ts``)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "vmmetrics" / "viewer" / "page"

pytestmark = pytest.mark.browser


def test_the_type_checker_finds_nothing(npm: Path) -> None:
    checked = subprocess.run([npm / ".bin" / "tsc", "-p", PAGE / "jsconfig.json"], capture_output=True, text=True)
    assert (checked.returncode, checked.stdout) == (0, "")


def test_scripts_are_at_most_650_lines() -> None:
    assert [file.name for file in PAGE.glob("*.js") if len(file.read_text("utf-8").splitlines()) > 650] == []
