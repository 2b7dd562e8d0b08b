"""What a leaderboard holds; all scores are times 100, as VMBench prints its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from vmmetrics.types import METRICS

AVERAGE = "average"
"""The mean of the five metrics' means."""
By = Literal["average", "cas", "mss", "ois", "pas", "tcs"]
COLUMNS: tuple[str, ...] = (AVERAGE, *METRICS)
SCALE = 100


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of the table.

    Attributes:
        mean: Times 100; None where there is none.
        low: Lower end of its 95 % interval, None for fewer than two prompts.
        high: Upper end, likewise.
        prompts: Prompts with a score; for the average those with any.
        without: Clips without a score, by reason.
    """

    mean: float | None
    low: float | None
    high: float | None
    prompts: int
    without: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """One model.

    Attributes:
        model: Its name.
        cells: By column: the average and the five metrics.
        prompts: Its prompts.
        clips: Its clips.
        rank: Place, 1 best; None where what is ranked by has no mean.
        shares: Share of samples of prompts in which it has each place; empty without a rank.
    """

    model: str
    cells: Mapping[str, Cell]
    prompts: int
    clips: int
    rank: int | None
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A model and the next one below it, on the prompts that both have.

    Attributes:
        above: The better one.
        below: The other.
        difference: Its mean, times 100; None where no prompt is common in some metric.
        low: Lower end of its 95 % interval.
        high: Upper end.
        p: Of a sign-flip test, None without a difference.
        p_holm: The same, raised for all steps of the table (Holm).
        prompts: Common prompts; of the metric that has fewest.
    """

    above: str
    below: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    prompts: int


@dataclass(frozen=True, slots=True)
class Board:
    """One table.

    Attributes:
        label: Preset, protocol, and what the numbers may be compared with.
        preset: Which models scored.
        protocol: By which definition.
        comparable: Whether with the published numbers.
        by: Column that it is ranked by.
        rows: Best first, those without a rank last.
        steps: Between each model and the next.
        prompts: All prompts.
        notes: What a reader has to know.
    """

    label: str
    preset: str
    protocol: str
    comparable: bool
    by: str
    rows: tuple[Row, ...]
    steps: tuple[Step, ...]
    prompts: int
    notes: tuple[str, ...]
