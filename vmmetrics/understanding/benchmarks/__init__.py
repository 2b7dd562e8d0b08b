"""The shipped benchmarks. Each module defines one, as ``BENCHMARK``; its name has ``-`` for ``_``.

Its data (title, paper, licence, categories, prompts) are in a file ``<name>.toml`` next to it, of which the harness
reads

- ``title`` and ``paper``, for ``vmmetrics understand list``;
- ``files``: patterns of the file with the questions; ``options``: how many a question usually has;
- ``caveat``: what a leaderboard says below its table, if anything;
- ``policy``: the default frame policy (:meth:`vmmetrics.models.frames.FramePolicy.parse`);
- ``[[references]]``: published rows, each with ``model``, ``source`` and ``figures.<measure>.<group>.<name>``, on the
  scale of :class:`vmmetrics.understanding.harness.benchmark.Figure`, or ``percent.<measure>...``, in percent::

      [[references]]
      model = "GPT-4o"
      source = "table 4 of the paper"
      [references.figures.accuracy]
      all = { all = 0.58 }
      task = { MR = 0.64, LM = 0.59 }
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def data_file(name: str) -> dict[str, Any]:
    """Read the data file ``<name>.toml``."""
    return tomllib.loads(resources.files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))


def f1_of(precision: float, recall: float) -> float:
    """Return the harmonic mean of precision and recall; 0 where both are 0."""
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
