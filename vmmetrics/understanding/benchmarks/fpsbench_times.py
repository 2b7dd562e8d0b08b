"""The clocks of FPS-Bench, kept apart: seconds of the source video, of the clip, of the certificate, and slowed ones.

Every time in the release is a second of the source video. A file at hand may be the source, the clip or the
certificate, and its own seconds begin where it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Clock = Literal["source", "clip", "certificate"]

Span = tuple[float, float]
"""Beginning and end, seconds."""


@dataclass(frozen=True, slots=True)
class Times:
    """When a question's clip and its certificate (the part that suffices to answer) are, seconds of the source.

    Raises:
        ValueError: One of them ends before it begins, or as it does.
    """

    clip: Span
    certificate: Span

    def __post_init__(self) -> None:
        if not (0 <= self.clip[0] < self.clip[1] and 0 <= self.certificate[0] < self.certificate[1]):
            raise ValueError("Expected the clip and its certificate to begin before they end")

    @property
    def duration(self) -> float:
        """Length of the clip."""
        return self.clip[1] - self.clip[0]

    @property
    def contained(self) -> bool:
        """Whether the certificate lies within the clip."""
        return self.clip[0] <= self.certificate[0] and self.certificate[1] <= self.clip[1]

    @property
    def shown(self) -> Span | None:
        """The part of the certificate within the clip, seconds of the source; None where there is none."""
        start, end = max(self.certificate[0], self.clip[0]), min(self.certificate[1], self.clip[1])
        return (start, end) if start < end else None

    def zero(self, clock: Clock) -> float:
        """Second of the source at which a clock begins."""
        return {"source": 0.0, "clip": self.clip[0], "certificate": self.certificate[0]}[clock]

    def convert(self, second: float, of: Clock, to: Clock) -> float:
        """The same moment on another clock.

        >>> Times((100, 106), (102, 104)).convert(1.5, "certificate", "clip")
        3.5
        """
        return second + self.zero(of) - self.zero(to)

    def span(self, span: Span, to: Clock) -> Span:
        """Seconds of the source on another clock."""
        return self.convert(span[0], "source", to), self.convert(span[1], "source", to)


@dataclass(frozen=True, slots=True)
class Footage:
    """A file, and on whose clock its first frame is second 0."""

    path: Path
    clock: Clock


def prepared_name(key: str, span: Span) -> str:
    """Name that the released preparation gives to a clip: it tells which seconds of the source are in it.

    >>> prepared_name("fpsbench_000000", (100.0, 106.5))
    'fpsbench_000000_100-106.5'
    """
    return f"{key}_{span[0]:g}-{span[1]:g}"


def part_of(footage: Footage, times: Times, certificate: bool) -> tuple[float | None, float | None]:
    """Where in a file the clip, or of it the certificate, is; None for the file's own beginning and end.

    A certificate that lies beside its clip leaves the clip.
    """
    wanted = (times.shown if certificate else None) or times.clip
    whole = {"clip": times.clip, "certificate": times.certificate}.get(footage.clock)
    return (None, None) if wanted == whole else times.span(wanted, footage.clock)
