"""Agreement of scores with human ratings: correlations, human agreement, preferences, ablation, power.

    study = read_study("runs/mine", "ratings.csv")      # or from mappings and data frames
    report = align(study, exclude_models=("real",))
    report.alignments, report.claims, report.to_json()

The command ``vmmetrics align`` prints it; :mod:`vmmetrics.alignment.report` draws it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vmmetrics.alignment.power import plan_study
    from vmmetrics.alignment.readers.read import read_study
    from vmmetrics.alignment.study import Matching, Study
    from vmmetrics.alignment.study_report import align
    from vmmetrics.alignment.study_results import StudyReport
    from vmmetrics.utils.statistics.bootstrap import Estimate
    from vmmetrics.utils.statistics.preferences import Preferences

# Resolved on first use, so that a study can be described without what reads and computes it.
_HOMES = {
    "Estimate": "vmmetrics.utils.statistics.bootstrap",
    "Matching": "vmmetrics.alignment.study",
    "Preferences": "vmmetrics.utils.statistics.preferences",
    "Study": "vmmetrics.alignment.study",
    "StudyReport": "vmmetrics.alignment.study_results",
    "align": "vmmetrics.alignment.study_report",
    "plan_study": "vmmetrics.alignment.power",
    "read_study": "vmmetrics.alignment.readers.read",
}

__all__ = ["Estimate", "Matching", "Preferences", "Study", "StudyReport", "align", "plan_study", "read_study"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'vmmetrics.alignment' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
