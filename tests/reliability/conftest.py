"""Make the shared parts of these tests importable by the name that the campaign uses too."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT, ROOT / "tests" / "run"):  # the fake suite lies with the tests of the run
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
