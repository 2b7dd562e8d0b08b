"""From a study through ``align`` to every form of output, for studies that lack something."""

from __future__ import annotations

import csv
import io
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from sample_study import make_study
from scipy import stats

from vmmetrics.alignment.report.charts import draw_charts
from vmmetrics.alignment.report.text import print_report, to_csv, to_latex, to_markdown
from vmmetrics.alignment.study import Study
from vmmetrics.alignment.study_report import align
from vmmetrics.viewer.study import to_html

STUDY = make_study(metrics=("cas", "mss"), dimensions=("q",), prompts=6)
CLIPS = len(STUDY.clips)
ODD = {
    "averaged ratings": replace(STUDY, ratings={"q": STUDY.mean_rating("q")[:, None]}, raters={"q": ()}),
    "preferences alone": replace(STUDY, ratings={}, raters={}),
    "no models": replace(STUDY, models=("",) * CLIPS),
    "one prompt": replace(STUDY, prompts=("p",) * CLIPS),
    "constant scores": replace(STUDY, scores={"cas": np.full(CLIPS, 0.5), "mss": np.full(CLIPS, np.nan)}),
    "no clips": Study((), (), (), {"m": np.zeros(0)}, {"q": np.zeros((0, 2))}, pairing={"m": ("q",)}),
    "nothing": Study((), (), (), {}, {}),
}


@pytest.mark.parametrize("study", ODD.values(), ids=ODD.keys())
def test_studies_that_lack_something_have_every_output(study: Study) -> None:
    report = align(study, resamples=20)
    output = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        print_report(report, Console(file=output, width=120))
        written = [to_csv(report), to_markdown(report), to_latex(report), to_html(study, report)]
    for text in (output.getvalue(), *written):
        assert text
        assert not re.search(r"\bnan\b", text, re.IGNORECASE)


@pytest.mark.slow
def test_charts_show_what_the_report_speaks_of() -> None:
    study = make_study(metrics=("cas", "mss"), prompts=6)
    report = align(study, exclude_models=["real"], resamples=20)
    charts = draw_charts(study, report)
    assert "scatter-average" in charts
    panel = charts["scatter-naturalness"].axes[0]
    drawn = sum(len(np.asarray(line.get_xdata())) for line in panel.get_lines() if line.get_linestyle() == "None")
    metric = panel.get_title(loc="left").strip()
    scores = study.scores[metric]
    kept = np.array([model != "real" for model in study.models]) & np.isfinite(scores)
    assert drawn == kept.sum()
    rows = csv.DictReader(io.StringIO(to_csv(report)))
    found = next(
        float(row["value"])
        for row in rows
        if (row["metric"], row["dimension"], row["statistic"]) == (metric, "naturalness", "spearman")
    )
    assert found == pytest.approx(stats.spearmanr(scores[kept], study.mean_rating("naturalness")[kept]).statistic)
