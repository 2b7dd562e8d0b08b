"""Construction of questions on motion from captions, annotations and model misreadings, with quality gates.

Four recipes, after the papers whose benchmarks they made; every question passes deterministic rules
(:mod:`vmmetrics.understanding.construction.question_checks`) before anything is spent on filtering it, and every one
that is rejected is kept with its reason.
"""

from __future__ import annotations
