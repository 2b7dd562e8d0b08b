"""Make the fake models of tests/run and the studies beside this file importable."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "scoring"), str(Path(__file__).parent)]
