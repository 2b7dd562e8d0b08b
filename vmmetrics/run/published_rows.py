"""The table that VMBench's authors published (arXiv 2503.10076 and the README of AMAP-ML/VMBench), times 100."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.types import METRICS

PROMPTS = 1050
"""Prompts behind each row."""
_ROUNDING = 0.1  # five columns and their average, each printed to one digit, can be apart by so much at most
_FILE = Path(__file__).with_name("published_vmbench.csv")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One model of the table.

    Attributes:
        model: Its name.
        scores: By metric, times 100.
        average: The average as printed, times 100.
    """

    model: str
    scores: Mapping[str, float]
    average: float

    @property
    def mean(self) -> float:
        """Mean of the five columns."""
        return math.fsum(self.scores.values()) / len(self.scores)

    @property
    def adds_up(self) -> bool:
        """Whether the printed average is the mean of the printed columns, rounding allowed for."""
        return abs(self.average - self.mean) <= _ROUNDING + 1e-9


def published_rows() -> list[PublishedRow]:
    """Return the rows, best mean of the five columns first."""
    with _FILE.open(encoding="utf-8", newline="") as file:
        rows = [
            PublishedRow(row["model"], {metric: float(row[metric]) for metric in METRICS}, float(row["average"]))
            for row in csv.DictReader(file)
        ]
    return sorted(rows, key=lambda row: -row.mean)


def averages_note(rows: list[PublishedRow]) -> str:
    """Say which rows do not add up, and to what they would; empty where all do."""
    apart = [f"{row.model} {row.average:.1f} (its columns: {row.mean:.1f})" for row in rows if not row.adds_up]
    return f"* average as printed, which is not the mean of its columns: {', '.join(apart)}" if apart else ""
