"""What a report was computed from: the study it was given, less what was left out, with what was averaged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from vmmetrics.alignment.averages import with_averages
from vmmetrics.alignment.exclusion import without_models
from vmmetrics.alignment.results import StudyReport
from vmmetrics.alignment.study import Study


def study_of(study: Study, report: StudyReport) -> Study:
    """The study that the numbers of a report speak of, from the study that was given.

    Args:
        study: What ``align`` was called with.
        report: What it returned.
    """
    left_out = set(report.settings.get("left out", ())) & set(study.models)
    return with_averages(replace(without_models(study, left_out), facing=report.facing))[0]


def flat_settings(report: StudyReport) -> Iterator[tuple[str, Any]]:
    """Settings by name, those inside others as ``outer.inner``; lists with commas."""
    for name, setting in report.settings.items():
        if isinstance(setting, Mapping):
            yield from ((f"{name}.{inner}", value) for inner, value in setting.items())
        elif isinstance(setting, list | tuple):
            yield name, ", ".join(map(str, setting))
        else:
            yield name, setting
