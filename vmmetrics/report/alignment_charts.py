"""The charts of an alignment study."""

from __future__ import annotations

from matplotlib.figure import Figure

from vmmetrics.alignment.results import StudyReport
from vmmetrics.alignment.study import Study
from vmmetrics.report.alignment_canvas import chart_style, save_charts, to_svg
from vmmetrics.report.alignment_clouds import calibration_chart, scatter_chart
from vmmetrics.report.alignment_forest import accuracy_chart, intervals_chart
from vmmetrics.report.alignment_source import study_of
from vmmetrics.report.alignment_squares import matrix_chart, models_chart
from vmmetrics.report.alignment_tables import dimensions_of, ranked

__all__ = ["draw_charts", "save_charts", "to_svg"]


def draw_charts(study: Study, report: StudyReport) -> dict[str, Figure]:
    """Draw everything that a study has data for.

    Args:
        study: What ``align`` was called with.
        report: What it returned.

    Returns:
        Key to figure: ``intervals-<dimension>`` (the picture of the study), ``scatter-<dimension>``,
        ``calibration-<dimension>``, ``models-<dimension>`` (where models are known) for each dimension that a metric
        faces; ``accuracy-<dimension>`` for each with preferences; ``matrix``.
    """
    charts: dict[str, Figure] = {}
    study = study_of(study, report)
    with chart_style():
        for dimension in dimensions_of(report):
            if not ranked(report, dimension):
                continue
            charts[f"intervals-{dimension}"] = intervals_chart(report, dimension)
            if dimension in study.ratings:
                charts[f"scatter-{dimension}"] = scatter_chart(study, report, dimension)
                charts[f"calibration-{dimension}"] = calibration_chart(study, report, dimension)
                if any(study.models):
                    charts[f"models-{dimension}"] = models_chart(study, report, dimension)
        for dimension in dict.fromkeys(accuracy.dimension for accuracy in report.preferences):
            charts[f"accuracy-{dimension}"] = accuracy_chart(report, dimension)
        if report.matrix.names:
            charts["matrix"] = matrix_chart(report.matrix)
    return charts
