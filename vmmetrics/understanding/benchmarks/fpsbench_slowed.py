"""FPS-Bench on slowed certificates: see :mod:`.fpsbench`."""

from __future__ import annotations

from typing import Final

from vmmetrics.understanding.benchmarks.fpsbench import FpsBench

BENCHMARK: Final = FpsBench("slowed")
