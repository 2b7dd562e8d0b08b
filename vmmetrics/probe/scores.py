"""The lines of a probe, looked up by metric, case and clip."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from vmmetrics.probe.plan import CLEAN
from vmmetrics.run.record import in_order

Line = Mapping[str, Any]


class Scores:
    """The lines of a probe, by metric and case.

    Attributes:
        lines: As they are.
        metrics: Every metric that gave or owed a score.
        clips: Names, in the order of the lines.
    """

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.clips = tuple(dict.fromkeys(line["clip"] for line in lines))
        named = {n for line in lines for part in ("scores", "missing") for n in line.get(part, ())}
        failed = {n for line in lines for n in line.get("errors", ())}
        self.metrics = in_order(named | failed)
        self._by_case: dict[tuple[str, float], dict[str, Line]] = defaultdict(dict)
        for line in lines:
            if "scores" in line:
                self._by_case[line["kind"], line["strength"]][line["clip"]] = line
        self.clean = self._by_case[CLEAN, 0.0]

    def strengths(self, kind: str) -> list[float]:
        """Strengths at which ``kind`` was asked for, ascending."""
        return sorted({line["strength"] for line in self.lines if line["kind"] == kind})

    def changes(self, metric: str, kind: str, strength: float) -> tuple[dict[str, float], int]:
        """Return the change of the score by clip, and how many clips lost theirs."""
        found, gone = {}, 0
        for clip, line in self._by_case[kind, strength].items():
            before = self.clean[clip]["scores"].get(metric) if clip in self.clean else None
            if before is None:
                continue
            after = line["scores"].get(metric)
            if after is None:
                gone += metric in line["missing"]
            else:
                found[clip] = after - before
        return found, gone
