"""Absolute category rating (ITU-T P.910) of five dimensions of motion, after VMBench (arXiv 2503.10076)."""

from __future__ import annotations

from typing import ClassVar

from vmmetrics.rating.designs.acr import Acr


class Vmbench5(Acr):
    """The five dimensions, in words of our own. Smoothness is the first: gold items break it beyond doubt."""

    key = "vmbench5"
    asks: ClassVar = {name: f"{name}_question" for name in ("mss", "cas", "ois", "pas", "tcs")}

    @property
    def method(self) -> tuple[str, str]:
        """Clause of the standard, and the method."""
        clause, words = super().method
        return clause, f"{words}, of five dimensions after VMBench; it is not VMBench's protocol"
