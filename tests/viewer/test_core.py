"""Parts that all views share: numbers as text, scripts of data, views that close."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.viewer.conftest import OpenReport
from tests.viewer.made_run import MadeClip, write_run
from vmmetrics.viewer.report import write_report

pytestmark = pytest.mark.browser


def test_zero_has_no_sign(open_report: OpenReport) -> None:
    page = open_report()
    texts = page.evaluate(
        """() => [vm.fixed(-0.04, 1), vm.fixed(-0, 0), vm.fixed(-0.06, 1), vm.fixed(-10, 0), vm.fixed(null),
          vm.signed(-0.04), vm.signed(0.04), vm.signed(0.06), vm.signed(-0.06)]"""
    )
    assert texts == ["0.0", "0", "−0.1", "−10", "–", "0.0", "0.0", "+0.1", "−0.1"]


def test_a_damaged_script_of_data_is_named(open_report: OpenReport, faults: list[str], report: Path) -> None:
    folder = report.parent / "damaged"
    shutil.copytree(report, folder)
    (folder / "data" / "detail-000.js").write_text("vmReport.detail(0,[{")
    page = open_report("view=clip&clip=first/alpha/0-a-dog-runs.mp4", folder=folder)
    page.wait_for_selector("text=data/detail-000.js is damaged")
    assert [text.strip() for text in faults] == ["Unexpected end of input"]
    faults.clear()


@pytest.mark.parametrize("view", ["clip", "compare"])
def test_a_view_that_closes_leaves_the_link_alone(open_report: OpenReport, view: str) -> None:
    page = open_report(f"view={view}&clip=first/alpha/0-a-dog-runs.mp4")
    page.click("[aria-label='Play (space)']")
    page.wait_for_selector("[aria-label='Pause (space)']")
    page.evaluate("vm.go({ view: 'gallery', clip: '', layers: ['masks'] })")
    assert page.evaluate("[location.hash, vm.state.layers.join()]") == ["#view=gallery&layers=masks", "masks"]


@pytest.mark.parametrize("view", ["clip", "compare"])
def test_a_link_is_copied_or_else_shown_to_be_copied(open_report: OpenReport, view: str) -> None:
    page = open_report(f"view={view}&clip=first/alpha/0-a-dog-runs.mp4")
    page.click("text=Copy link to this frame")
    page.wait_for_selector("text=Link copied")
    refusing = "navigator.clipboard.writeText = () => Promise.reject(); document.execCommand = () => false"
    page.evaluate(f"() => {{ {refusing}; }}")
    page.click("text=Copy link to this frame")
    assert page.locator("input[aria-label='Link to this frame']").input_value() == page.url


def test_a_pair_without_its_details_says_so(open_report: OpenReport, report: Path) -> None:
    page = open_report("view=about", folder=report)
    page.evaluate("() => { vm.data.detail = () => Promise.reject(new Error('details are missing')); }")
    page.evaluate("clip => vm.go({ view: 'compare', clip })", "first/alpha/0-a-dog-runs.mp4")
    page.wait_for_selector(".pair >> text=details are missing")


def test_runs_of_which_every_clip_failed(open_report: OpenReport, tmp_path: Path) -> None:
    clips = [MadeClip(f"{model}/0.mp4", model, error="The file is empty") for model in ("alpha", "beta")]
    page = open_report(folder=write_report(write_run(tmp_path / "run", clips), tmp_path / "out").path.parent)
    views = page.evaluate("vm.views.filter((view) => view.available()).map((view) => view.key)")
    assert "compare" not in views
    for view in views:
        page.evaluate("view => vm.go({ view, clip: view === 'clip' ? vm.data.id(0) : '' })", view)
        assert page.locator("[role=alert]").count() == 0


def test_means_of_a_small_score_of_ones_own_have_decimals(open_report: OpenReport, tmp_path: Path) -> None:
    clips = []
    for model, value in (("alpha", 0.04), ("beta", 0.46)):
        for n in range(2):
            scores = {"tiny": value + 0.002 * n, "huge": 1000 * value, "tcs": value}
            clips.append(MadeClip(f"{model}/{n}.mp4", model, f"{n}", scores, tags={"pattern": "still"}))
    report = write_report(write_run(tmp_path / "run", clips), tmp_path / "out")
    page = open_report("view=groups", folder=report.path.parent)
    means = page.locator("tbody tr:first-child .mean").all_inner_texts()
    assert sorted(means) == ["0.250", "0.251", "250.0"]  # of both models
