"""Reports with stills and noise: both means of the index, and single scores rounded to their uncertainty everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.conftest import OpenReport
from tests.viewer.made_index import made_index, write_page
from tests.viewer.made_run import MadeClip, write_run
from vmmetrics.metrics import METRICS
from vmmetrics.viewer.report import write_report

pytestmark = pytest.mark.browser
OR_ZERO = "motion_index_or_0"
GOOD = {"cas": 0.512, "mss": 1.0}  # INDEX 0.512^(2/3) = 0.64
REASONS = {"still": "nothing moves: all 12 frames show the same image", "noise": "the clip is noise: no shape"}


def clips_of(collapsed: dict[str, str]) -> list[MadeClip]:
    """Return two models with four clips, those of ``collapsed`` as the kind that it states."""
    clips = []
    for model in "ab":
        for number in range(4):
            name, tags = f"{model}/{number}.mp4", {"pattern": ("walk", "run")[number % 2]}
            kind = collapsed.get(name)
            missing = {} if kind is None else dict.fromkeys(METRICS, REASONS[kind])
            clips.append(MadeClip(name, model, f"prompt {number}", {} if kind else GOOD, missing, tags=tags))
    return clips


def report_of(folder: Path, *collapsed: dict[str, str]) -> Path:
    runs = [write_run(folder / f"r{number}", clips_of(of)) for number, of in enumerate(collapsed)]
    return write_report(runs, folder / "out").path.parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report of one run: of model b, two of four clips collapsed."""
    return report_of(tmp_path_factory.mktemp("one"), {"b/1.mp4": "still", "b/2.mp4": "noise"})


def texts(page: Any, selector: str) -> list[str]:
    """Return the texts of elements, spaces joined and minus signs as hyphens."""
    return [" ".join(text.split()).replace("\N{MINUS SIGN}", "-") for text in page.locator(selector).all_inner_texts()]


def test_two_models_are_compared_with_the_collapsed_as_0(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=compare&a=0%2Fa&b=0%2Fb", folder=folder)
    score = page.get_by_label("Score")
    assert score.input_value() == OR_ZERO
    assert texts(page, "[aria-label=Score] option")[:2] == [
        "INDEX, collapsed as 0, motion index with stills, slide shows and noise as 0", "INDEX, judged, motion index",
    ]  # fmt: skip
    rows = texts(page, "table.compare-pairs tbody tr")
    assert rows == [
        "prompt 1 0.640 0 (collapsed) -0.640", "prompt 2 0.640 0 (collapsed) -0.640", "prompt 0 0.640 0.640 0.000",
        "prompt 3 0.640 0.640 0.000",
    ]  # fmt: skip
    (verdict,) = texts(page, ".verdict")
    assert verdict.startswith("INDEX, collapsed as 0, b less a: -0.320 [") and "paired test p = " in verdict
    page.get_by_label("Order").select_option("gains")
    assert texts(page, "table.compare-pairs tbody tr")[0] == "prompt 0 0.640 0.640 0.000"
    page.locator("a.pair-link").first.click()
    assert page.evaluate("[vm.state.metric, vm.state.clip]") == [OR_ZERO, "r0/a/0.mp4"]
    assert texts(page, ".verdict")[0].startswith("INDEX, collapsed as 0, b less a: -0.320 [")
    page.go_back()
    score.select_option("motion_index")
    assert texts(page, ".verdict")[0].startswith("INDEX, judged, b less a: 0.000")
    assert "B missing: no CAS and no MSS" in texts(page, "table.compare-pairs tbody tr")[-1]


def test_means_with_a_filter_are_both(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=leaderboard", folder=folder)
    assert {"INDEX, collapsed as 0", "INDEX, judged"} <= set(texts(page, "table.models th button"))
    names = page.evaluate("[0, 4, 5, 6].map((row) => vm.data.name(row))")
    page.evaluate("where => vm.go({ where })", f"clip in ({', '.join(map(json.dumps, names))})")
    heads = texts(page, "table.filtered th")[:6]
    assert heads[:4] == ["Model", "Clips", "INDEX, collapsed as 0", "INDEX, judged"]
    assert [text.split()[:4] for text in texts(page, "table.filtered tbody tr")] == [
        ["a", "1", "0.640", "0.640"], ["b", "3", "0.213", "0.640"],
    ]  # fmt: skip


def test_means_by_tag_are_both(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=groups", folder=folder)
    assert texts(page, "table.groups th button")[1:3] == ["INDEX, collapsed as 0", "INDEX, judged"]


def test_changes_offer_the_index_with_the_collapsed_as_0(open_report: OpenReport, tmp_path: Path) -> None:
    page = open_report("view=changes", folder=report_of(tmp_path, {}, {"b/1.mp4": "still"}))
    assert page.locator("main select").first.input_value() == OR_ZERO
    assert "worse in 1 of 8 pairs" in texts(page, "main")[0]
    assert "INDEX 0.640 → 0 (collapsed), -0.640" in texts(page, ".pair-item")[0]


def test_all_collapsed(open_report: OpenReport, tmp_path: Path) -> None:
    names = [f"{model}/{number}.mp4" for model in "ab" for number in range(4)]
    folder = report_of(tmp_path, dict.fromkeys(names, "still"))
    for view in ("leaderboard", "groups", "compare"):
        page = open_report(f"view={view}", folder=folder)
        shown = texts(page, "main")[0]
        assert "INDEX, collapsed as 0" in shown and "motion_index" not in shown, view
    assert "INDEX –" in texts(open_report("view=gallery", folder=folder), "main")[0]


def test_without_collapsed_clips_the_index_stands_once(open_report: OpenReport, tmp_path: Path) -> None:
    folder = report_of(tmp_path, {}, {})
    for view in ("leaderboard", "groups", "changes", "compare"):
        shown = texts(open_report(f"view={view}", folder=folder), "main")[0]
        assert "judged" not in shown and "collapsed" not in shown, view


def test_the_scores_of_single_clips_are_rounded_to_their_uncertainty(open_report: OpenReport, tmp_path: Path) -> None:
    index = made_index()
    index["clips"]["places"] = {"cas": {str(row): [1, 4, 0.1] for row in range(18)}}
    folder = write_page(tmp_path / "out", index)
    page = open_report("view=compare&a=0%2Fant&b=0%2Fbee&metric=cas", folder=folder)
    assert texts(page, "table.compare-pairs tbody tr")[0] == "a dog runs 0.4 0.6 +0.200"
    page = open_report("view=changes&metric=cas", folder=folder)
    assert any("CAS 0.6 → 0.7, +0.050" in item for item in texts(page, ".pair-item"))  # 0.65
    page = open_report("view=clip&clip=first%2Fant%2F0.mp4&metric=cas", folder=folder)
    assert "bee CAS 0.6 compare" in texts(page, ".clip-others li")
    page = open_report("view=distributions&metric=cas&other=mss", folder=folder)
    page.locator("[data-metric=cas] canvas").focus()
    page.keyboard.press("ArrowRight")
    assert texts(page, "[data-metric=cas] .readout") == ["ant/0.mp4: 0.4"]
    page.evaluate("() => document.querySelector('.scatter canvas').scrollIntoView()")
    box = page.locator(".scatter canvas").bounding_box()
    x, y = 48 + 0.4 * (box["width"] - 60), 12 + 0.6 * (box["height"] - 52)
    page.mouse.move(box["x"] + x, box["y"] + y)
    assert texts(page, ".scatter .readout") == ["ant, ant/0.mp4: CAS 0.4, MSS 0.400"]


@pytest.mark.parametrize(
    ("values", "limits", "ends"),
    [
        ([1.02, 1.2], [0, 1], ["1.0", "1.2"]),
        ([-0.2, -0.01], [0, 1], ["-0.2", "0.0"]),
        ([0, 0], [0, 1], ["0", "1"]),
        ([0, 0], None, ["0", "1"]),
        ([1, 1], [0, 1], ["0.99", "1.00"]),
        ([0.2, 0.8], [0, 1], ["0.2", "0.8"]),
        ([5, 5], None, ["4.99", "5.01"]),
        ([1e-9, 2e-9], [0, 1], ["0.000000", "0.000001"]),
    ],
)
def test_a_scale_has_a_width(open_report: OpenReport, values: Any, limits: Any, ends: list[str], folder: Path) -> None:
    page = open_report("view=about", folder=folder)
    domain, shown = page.evaluate(
        "([v, l]) => { const d = vm.domain(v, l); return [d, vm.endsOf(d)]; }", [values, limits]
    )
    assert domain[1] > domain[0]
    assert [text.replace("\N{MINUS SIGN}", "-") for text in shown] == ends


def test_means_beyond_the_range_are_drawn(open_report: OpenReport, tmp_path: Path) -> None:
    index = made_index()
    for number, row in enumerate(index["boards"][0]["rows"]):
        row["cells"]["cas"].update(mean=1.05 + number / 100, low=1.02, high=1.2)
        row["cells"]["tcs"].update(mean=0, low=0, high=0)
    page = open_report("view=leaderboard", folder=write_page(tmp_path / "out", index))
    heads = {text.split()[0]: text.split()[-2:] for text in texts(page, "table.models thead th")}
    assert (heads["CAS"], heads["TCS"]) == (["1.0", "1.2"], ["0", "1"])
