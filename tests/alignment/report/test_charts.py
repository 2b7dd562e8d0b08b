"""Charts of alignment studies: what they draw is what was found, for every shape of study."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image
from sample_study import MODELS, make_degenerate, make_report, make_study

from vmmetrics.alignment.report.charts import draw_charts, intervals_chart, matrix_chart, save_charts, to_svg
from vmmetrics.alignment.report.comparisons import misranked_clips
from vmmetrics.alignment.results import Matrix

METRICS = ("cas", "mss", "flow")
STUDY = make_study(metrics=METRICS)
REPORT = make_report(STUDY)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(scope="module")
def charts() -> dict[str, Figure]:
    return draw_charts(STUDY, REPORT)


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.get_visible()]


def letters(figure: Figure) -> str:
    """All text of a chart as a reader finds it."""
    root = ElementTree.fromstring(to_svg(figure))  # noqa: S314  our own output
    return "\n".join("".join(part.itertext()) for part in root.iter("{http://www.w3.org/2000/svg}text"))


def test_every_chart_is_drawn(charts: dict[str, Figure]) -> None:
    kinds = ("intervals", "scatter", "models")
    wanted = {f"{kind}-{dimension}" for kind in kinds for dimension in ("naturalness", "smoothness")}
    assert set(charts) == wanted | {"accuracy-naturalness", "matrix"}


def test_the_forest_stands_where_the_estimates_are(charts: dict[str, Figure]) -> None:
    left, right = panels(charts["intervals-naturalness"])
    pairs = REPORT.ranked("naturalness")
    for axes, found in ((left, [p.spearman for p in pairs]), (right, [p.within_model.mean for p in pairs])):
        dots = [line for line in axes.get_lines() if line.get_marker() == "o"]
        assert [float(np.asarray(dot.get_xdata())[0]) for dot in dots] == [e.value for e in found]
        spans = {
            tuple(np.asarray(line.get_xdata())) for line in axes.get_lines() if len(np.asarray(line.get_xdata())) == 2
        }
        assert {(e.low, e.high) for e in found} <= spans
    assert [tick.get_text() for tick in left.get_yticklabels()] == [pair.metric for pair in pairs]
    people = next(c.overall.value for c in REPORT.ceilings if c.dimension == "naturalness")
    name = next(b.overall.value for b in REPORT.baselines if b.dimension == "naturalness")
    shown = letters(charts["intervals-naturalness"])
    assert f"single rater {people:.2f}" in shown
    assert f"model's name {name:.2f}" in shown


def test_the_scatter_has_every_clip_with_both(charts: dict[str, Figure]) -> None:
    rating = STUDY.mean_rating("naturalness")
    for axes, pair in zip(panels(charts["scatter-naturalness"]), REPORT.ranked("naturalness"), strict=True):
        clouds = [line for line in axes.get_lines() if line.get_linestyle() == "None"]
        drawn = sorted((x, y) for line in clouds for x, y in np.asarray(line.get_xydata()))
        score = STUDY.scores[pair.metric]
        assert drawn == sorted(zip(score[~np.isnan(score)], rating[~np.isnan(score)], strict=True))
        bars = next(line for line in axes.get_lines() if line.get_linestyle() == "-")
        ratings = STUDY.ratings["naturalness"][~np.isnan(score)]
        ends = np.asarray(bars.get_ydata()).reshape(-1, 3)
        assert np.array_equal(ends[:, 0], ratings.min(axis=1))
        assert np.array_equal(ends[:, 1], ratings.max(axis=1))


def test_boxes_are_the_quartiles_of_each_model(charts: dict[str, Figure]) -> None:
    people = panels(charts["models-naturalness"])[0]
    rating = STUDY.mean_rating("naturalness")
    models = np.array(STUDY.models)
    means = {model: rating[models == model].mean() for model in MODELS}
    order = [tick.get_text() for tick in people.get_yticklabels()]
    assert order == sorted(MODELS, key=lambda model: -means[model])
    for model, box in zip(order, people.patches, strict=True):
        low, high = np.percentile(rating[models == model], [25, 75])
        x0, x1 = box.get_extents().transformed(people.transData.inverted()).intervalx
        assert np.allclose([x0, x1], [low, high])


def test_the_matrix_says_its_numbers() -> None:
    values = np.array([[1.0, -0.25, 0.5], [-0.25, 1.0, np.nan], [0.5, np.nan, 1.0]])
    figure = matrix_chart(Matrix(("a", "b", "q"), 2, values, np.full((3, 3), 10.0)))
    shown = [text.get_text() for text in panels(figure)[0].texts]
    assert shown == ["1.00", "−.25", ".50", "−.25", "1.00", "–", ".50", "–", "1.00"]
    assert "people: q" in letters(figure)


def test_the_scatter_has_the_best_rising_fit() -> None:
    study = make_study(metrics=("m",), models=("a", "b"), prompts=4, dimensions=("q",))
    score, rating = np.arange(8.0), np.array([1.0, 3.0, 2.0, 4.0, 4.0, 5.0, 7.0, 6.0])
    study = replace(study, scores={"m": score}, ratings={"q": rating[:, None]}, raters={"q": ()})
    (axes,) = panels(draw_charts(study, make_report(study))["scatter-q"])
    (fit,) = (line for line in axes.get_lines() if line.get_linestyle() == "-")
    drawn = np.interp(score, *np.asarray(fit.get_xydata()).T)
    assert np.allclose(drawn, [1.0, 2.5, 2.5, 4.0, 4.0, 5.0, 6.5, 6.5])


def test_parted_clips_are_placed_among_their_models_clips() -> None:
    # places of four clips are 1/8, 3/8, 5/8, 7/8; the metric turns the order of model a round and agrees on b
    study = make_study(metrics=("m",), models=("a", "b"), prompts=4, dimensions=("q",))
    quality = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0])  # clips alternate between a and b
    score = np.where(np.array(study.models) == "a", -quality, quality)
    study = replace(study, scores={"m": score}, ratings={"q": quality[:, None]})
    found = misranked_clips(study, "m", "q")
    assert [(clip.clip, clip.apart) for clip in found] == [
        ("a/000.mp4", 0.75), ("a/001.mp4", 0.25), ("a/002.mp4", -0.25), ("a/003.mp4", -0.75),
    ]  # fmt: skip


def test_svg_is_the_same_each_time_and_knows_no_date() -> None:
    first, second = (to_svg(intervals_chart(REPORT, "naturalness")) for _ in range(2))
    assert first == second
    assert "<dc:date>" not in first


def test_degenerate_studies_are_drawn_with_the_reason() -> None:
    study, report = make_degenerate(metric="$still$", dimension="<q>")
    charts = draw_charts(study, report)
    assert set(charts) == {"intervals-<q>", "scatter-<q>", "matrix"}
    assert "one clip has a score and a rating" in letters(charts["intervals-<q>"])
    assert "no clip has a score and a rating" in letters(charts["scatter-<q>"])
    assert "$still$" in letters(charts["matrix"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metrics", "models", "prompts", "raters"),
    [
        (("only",), ("one",), 3, 1),
        (("模型",), ("",), 9, 2),
        (tuple(f"a_metric_of_a_long_name_{i}" for i in range(12)), tuple(f"model_{i}" for i in range(16)), 2, 1),
    ],
)
def test_any_shape_of_study_is_drawn(
    metrics: tuple[str, ...], models: tuple[str, ...], prompts: int, raters: int, tmp_path: Path
) -> None:
    study = make_study(metrics, models, prompts, raters, dimensions=("q",))
    charts = draw_charts(study, make_report(study))
    chosen = {key: charts[key] for key in ("intervals-q", "scatter-q")}
    for path in save_charts(chosen, tmp_path):
        with Image.open(path) as picture:
            assert 900 <= picture.width <= 1800
            assert len(picture.getcolors(1 << 20) or [0, 0]) > 1


def test_many_clips_are_painted_not_listed() -> None:
    study = make_study(metrics=("m",), models=("a", "b"), prompts=2000, raters=1, dimensions=("q",))
    svg = to_svg(draw_charts(study, make_report(study))["scatter-q"])
    assert "<image" in svg
    assert len(svg) < 300_000


def test_files_are_named_after_keys_and_never_overwrite_one_another(tmp_path: Path) -> None:
    figure = matrix_chart(REPORT.matrix)
    paths = save_charts({"scatter-a/b": figure, "scatter-a b": figure, "..": figure}, tmp_path / "new", ".svg")
    assert [path.name for path in paths] == ["scatter-a-b.svg", "scatter-a-b-2.svg", "chart.svg"]
    assert all(path.parent == tmp_path / "new" for path in paths)


def test_drawing_leaves_the_users_settings_alone() -> None:
    before = dict(rcParams)
    to_svg(matrix_chart(REPORT.matrix))
    assert dict(rcParams) == before
