"""FPS-Bench on the certificates only: see :mod:`.fpsbench`."""

from __future__ import annotations

from typing import Final

from vmmetrics.understanding.benchmarks.fpsbench import FpsBench

BENCHMARK: Final = FpsBench("certificate")
