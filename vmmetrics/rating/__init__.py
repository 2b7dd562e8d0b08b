"""Rating studies by ITU-T P.910, P.913 and BT.500: designs, raters' sessions, export; ``vmmetrics rate``."""

from __future__ import annotations

from collections.abc import Mapping

DESIGNS: Mapping[str, str] = {
    "acr": "one clip on a scale",
    "dcr": "one clip after the reference of its prompt",
    "ccr": "the second of two clips of a prompt against the first",
    "vmbench5": "one clip on five scales, after VMBench",
    "pair": "which of two clips of a prompt is better",
    "questions": "the yes/no questions of a clip's prompt",
    "moments": "marks of when and where something is wrong",
}
"""Designs by name, and what raters do; the class is in ``rating/designs/NAME.py`` under the name capitalised."""
