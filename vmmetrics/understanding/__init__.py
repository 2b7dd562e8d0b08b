"""Evaluation of video language models on motion: benchmarks, runs, scores, and questions of your own.

A benchmark of one's own is a :class:`Benchmark`, or a :class:`MultipleChoice`, and is registered under its name::

    from vmmetrics.understanding import MultipleChoice, register

    class Mine(MultipleChoice): ...

    register(Mine())
"""

from __future__ import annotations

from vmmetrics.understanding.harness.benchmark import Benchmark, Figure, Reference, Scored, Scoring
from vmmetrics.understanding.harness.choices import MultipleChoice
from vmmetrics.understanding.registry import register

__all__ = ["Benchmark", "Figure", "MultipleChoice", "Reference", "Scored", "Scoring", "register"]
