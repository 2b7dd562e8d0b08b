"""FPS-Bench, shown its certificates slowed: see :mod:`.fpsbench`."""

from __future__ import annotations

from typing import Final

from vmmetrics.understanding.benchmarks.fpsbench import FpsBench

BENCHMARK: Final = FpsBench("slowed")
