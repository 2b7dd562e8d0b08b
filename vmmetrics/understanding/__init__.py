"""Motion understanding: whether a video language model can see motion, by four public benchmarks and a suite of ours."""

from __future__ import annotations
