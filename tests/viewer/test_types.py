"""The page's scripts agree with their types (``page/types.d.ts``), the rules of eslint and the form of prettier."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "vmmetrics" / "viewer" / "page"

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(
    "command",
    [
        ["tsc", "-p", PAGE / "jsconfig.json"],
        ["eslint", "--max-warnings", "0", PAGE],
        ["prettier", "--log-level", "warn", "--check", *sorted(PAGE.glob("*.[jct]s*")), ROOT / "eslint.config.mjs"],
    ],
    ids=["types", "rules", "form"],
)
def test_nothing_is_found(npm: Path, command: list[str | Path]) -> None:
    checked = subprocess.run([npm / ".bin" / command[0], *command[1:]], capture_output=True, text=True, cwd=ROOT)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stdout + checked.stderr


def test_no_line_is_longer_than_120_characters() -> None:  # prettier breaks no text and no comment
    lines = [line for file in PAGE.glob("*.[jct]s*") for line in file.read_text("utf-8").splitlines()]
    assert lines and [line for line in lines if len(line) > 120] == []
