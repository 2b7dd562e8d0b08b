"""Reports of ayase, ``report.json`` of ``ayase scan``, and of CineInfini's export for VBench, a file per video.

Read in ayase 0.2.1, ``pipeline.py``, and cineinfini-audit 1.0.1, ``io/exporters/vbench_export.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vmmetrics.alignment.readers.source_table import Rows, is_rows

_REPORT, _EXPORT = {"run_status", "stats", "samples"}, {"video", "scores", "measured_dimensions"}


def detect(content: Any) -> bool:
    """Return True if content is one of both."""
    if not isinstance(content, Mapping):
        return False
    return (content.keys() >= _REPORT and is_rows(content["samples"])) or content.keys() >= _EXPORT


def rows(content: Any, _: str) -> Rows:
    """Return a row per video: its path, and the numbers measured; videos without any are noted."""
    if content.keys() >= _EXPORT:
        return [{"clip": content["video"], **_numbers(content["scores"])}], "CineInfini's export for VBench"
    found = [(sample.get("path"), _numbers(sample.get("quality_metrics"))) for sample in content["samples"]]
    without = sum(not numbers for _, numbers in found)
    note = f"a report of ayase; {without} videos without a metric left out" if without else "a report of ayase"
    return [{"clip": path, **numbers} for path, numbers in found if numbers], note


def _numbers(values: Any) -> dict[str, float]:
    given = values.items() if isinstance(values, Mapping) else ()
    return {name: value for name, value in given if isinstance(value, int | float) and not isinstance(value, bool)}
