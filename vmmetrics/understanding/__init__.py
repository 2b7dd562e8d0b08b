"""Motion understanding: whether a video language model can see motion, by four public benchmarks and our suite."""

from __future__ import annotations
