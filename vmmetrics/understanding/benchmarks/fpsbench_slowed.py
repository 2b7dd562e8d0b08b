"""FPS-Bench, shown its certificates slowed: see :mod:`.fpsbench`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.fpsbench import FpsBench, Setting
from vmmetrics.understanding.benchmarks.fpsbench_reading import DATA

_FASTEST: Final = 1000.0  # frames per second; a higher minFPS is a slip of the pen


@dataclass(frozen=True, slots=True)
class Slowed(FpsBench):
    """FPS-Bench in the setting where frames depend on the question."""

    setting: Setting = "slowed"

    def policy_for(self, question: Question) -> str | None:
        """Frame policy of a question: minFPS frames a second of its certificate; None where that is not known."""
        rate, needed = float(DATA["slowed_rate"]), question.reference["min_fps"]
        return f"{rate:g} fps slowed {needed / rate:f}" if needed and rate <= needed <= _FASTEST else None


BENCHMARK: Final = Slowed()
