"""A benchmark is a data file (categories, prompts, figures to compare with) and a module that reads and scores it.

The data file is ``<module>.toml`` beside the module, or ``<first word of it>.toml`` for two that share one. Of it the
harness reads, unless the benchmark has attributes of these names:

- ``policy``: the frame policy it is asked under by default (:meth:`vmmetrics.models.frames.FramePolicy.parse`).
- ``[[references]]``: published rows, each with ``model``, ``source`` and ``figures.<measure>.<group>.<name>``, on the
  scale of :class:`vmmetrics.understanding.harness.benchmark.Figure`::

      [[references]]
      model = "GPT-4o"
      source = "table 4 of the paper"
      [references.figures.accuracy]
      all = { all = 0.58 }
      task = { MR = 0.64, LM = 0.59 }
"""

from __future__ import annotations
