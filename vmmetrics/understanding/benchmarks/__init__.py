"""A benchmark is a data file (categories, prompts, figures to compare with) and a module that reads and scores it."""

from __future__ import annotations
