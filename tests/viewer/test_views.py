"""Views of numbers, on an index whose numbers were set by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.viewer.conftest import OpenReport
from tests.viewer.made_index import BASE, HOSTILE, KEYS, MODELS, board, made_index, replaced, write_page

pytestmark = pytest.mark.browser
VIEWS = ("leaderboard", "distributions", "changes", "groups", "about")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a report of the made-up index."""
    return write_page(tmp_path_factory.mktemp("views") / "out", made_index())


def text_of(page: Any, selector: str = "main") -> str:
    """Return an element's text, spaces joined and minus signs as hyphens."""
    return " ".join(page.locator(selector).first.inner_text().split()).replace("\N{MINUS SIGN}", "-")


def models_in(page: Any) -> list[str]:
    """Return the names of models in the order of the first table."""
    return [text.split()[0] for text in page.locator("table.models").first.locator("tbody th").all_inner_texts()]


def sort_by(page: Any, name: str) -> str:
    """Click a header of the table of models; return its aria-sort."""
    page.locator("table.models").first.get_by_role("button", name=name, exact=True).click()
    return str(
        page.locator("table.models")
        .first.locator("th", has=page.get_by_role("button", name=name))
        .get_attribute("aria-sort")
    )


def test_models_are_sorted_with_missing_means_last_both_ways(open_report: OpenReport, folder: Path) -> None:
    page = open_report(folder=folder)
    assert models_in(page) == ["bee", "cat", "ant"]
    assert (sort_by(page, "TCS"), models_in(page)) == ("descending", ["bee", "ant", "cat"])
    assert (sort_by(page, "TCS"), models_in(page)) == ("ascending", ["ant", "bee", "cat"])
    assert (sort_by(page, "Model"), models_in(page)) == ("ascending", ["ant", "bee", "cat"])
    assert (sort_by(page, "Rank"), models_in(page)) == ("ascending", ["bee", "cat", "ant"])
    assert "sort" not in page.url


def test_the_table_of_models_shows_the_numbers_of_the_index(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=leaderboard", folder=folder)
    for row in board()["rows"]:
        shown = text_of(page, f"table.models tbody tr:has(th:has-text('{row['model']}'))")
        for column, cell in row["cells"].items():
            if cell["mean"] is not None:
                assert f"{cell['mean']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]" in shown, column
    assert text_of(page, "tr:has(th:has-text('bee')) td").startswith("1 1 to 2")
    assert text_of(page, "tr:has(th:has-text('ant')) td").startswith("3 3")


def test_a_missing_mean_is_a_dash_with_its_reason(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=leaderboard", folder=folder)
    cell = page.locator("table.models tr:has(th:has-text('cat')) td").nth(-2)
    assert cell.inner_text().split() == ["–", "missing", "3"]
    cell.locator("summary").press("Enter")
    assert "no object moved: 3 clips" in cell.inner_text()
    bee = text_of(page, "table.models tr:has(th:has-text('bee'))")
    assert "2 of 3 clips missing 2, failed 1" in bee


def test_human_ratings_stand_beside_the_scores(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=leaderboard", folder=folder)
    means = {model: text_of(page, f"table.models tr:has(th:has-text('{model}')) td:last-child") for model in MODELS}
    assert means == {"ant": "2.00", "bee": "3.00", "cat": "4.00"}  # 1 + model + mean of 0, 1, 2
    assert "0.42 [0.11, 0.63] 12 clips –" in text_of(page)


def test_steps_are_sentences(open_report: OpenReport, folder: Path) -> None:
    steps = open_report("view=leaderboard", folder=folder).locator(".steps li").all_inner_texts()
    assert [" ".join(step.split()) for step in steps] == [
        "bee is above cat by 0.102 [0.083, 0.122], p = 0.020 (Holm), 3 prompts",
        "cat is above ant by 0.098 [0.077, 0.117], not significant, p = 0.200 (Holm), 3 prompts",
    ]


def test_every_two_models_have_a_difference_and_its_negative(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=leaderboard&metric=tcs", folder=folder)
    assert page.locator("main select").first.input_value() == "tcs"
    rows = {text.split()[0]: text for text in page.locator("table.model-pairs tbody tr").all_inner_texts()}
    cells = {name: text.replace("\N{MINUS SIGN}", "-").split()[1:] for name, text in rows.items()}
    assert cells["bee"] == ["+0.102", "p", "0.020", "+0.205", "p", "0.004"]
    assert cells["ant"] == ["-0.205", "p", "0.004", "-0.098", "p", "0.200"]
    page.locator("main select").first.select_option("cas")
    assert page.evaluate("vm.state.metric") == "cas"


def test_models_and_numbers_lead_to_their_clips(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=leaderboard&q=dog&r.cas=0~1", folder=folder)
    state = page.evaluate(
        """() => {
          const rows = [...document.querySelectorAll("table.models tbody tr")];
          const row = rows.find(row => row.textContent.includes("bee"));
          const read = link => Object.fromEntries(new URLSearchParams(link.hash.slice(1)));
          return [read(row.querySelector("th a")), read([...row.querySelectorAll("td a")].at(-1))];
        }"""
    )
    assert state == [
        {"view": "gallery", "f.model": "bee"},
        {"view": "gallery", "sort": "tcs", "f.model": "bee"},
    ]


def test_means_with_a_filter_are_those_of_its_clips(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=leaderboard", folder=folder)
    assert page.locator("table.filtered").count() == 0
    rows = page.evaluate("[3, 4, 12, 14].map((row) => [vm.data.name(row), vm.data.run(row).name].map(JSON.stringify))")
    where = " or ".join(f"clip == {clip} and run == {run}" for clip, run in rows)
    page.evaluate("where => vm.go({ where })", where)
    assert "the filter shows 4 clips" in text_of(page)
    # bee: 0.6, 0.65, 0.7 and 0.85
    assert text_of(page, "table.filtered tr:has(th:has-text('bee'))").split()[1:3] == ["4", "0.700"]
    assert text_of(page, "table.filtered tr:has(th:has-text('ant'))").split()[1:] == ["0", *["–"] * (len(KEYS) + 1)]


def test_one_model_alone_is_a_profile(open_report: OpenReport, tmp_path: Path) -> None:
    alone = board(["bee"])
    for cell in alone["rows"][0]["cells"].values():
        cell.update(low=None, high=None, prompts=1)
    alone["rows"][0].update(prompts=1, clips=1)
    page = open_report(folder=write_page(tmp_path / "out", made_index() | {"boards": [alone], "pairs": []}))
    shown = text_of(page, "table.profile")
    assert "bee, 1 clip" in shown and "1 prompt: too few for intervals" in text_of(page)
    for cell in alone["rows"][0]["cells"].values():
        assert f"{cell['mean']:.1f}" in shown
    assert "[" not in shown


def test_tables_of_other_configurations_are_said_not_to_compare(open_report: OpenReport, tmp_path: Path) -> None:
    other = board() | {"label": "preset vmbench, protocol vmbench", "comparable": True}
    page = open_report(folder=write_page(tmp_path / "out", made_index() | {"boards": [board(), other]}))
    first, second = page.locator(".warning").all_inner_texts()
    assert "not comparable with published VMBench numbers" in first.lower().replace("vmbench", "VMBench")
    assert "published" not in second and "with the other tables" in first and "with the other tables" in second


def test_dragging_along_an_axis_sets_the_range(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=distributions", folder=folder)
    canvas = page.locator("[data-metric=cas] canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    y = box["y"] + 12
    page.mouse.move(box["x"] + 0.75 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], y)
    page.mouse.move(box["x"] + 0.25 * box["width"], y)
    page.mouse.up()
    low, high = page.evaluate("vm.state.ranges.cas")
    assert (low, high) == pytest.approx((0.25, 0.75), abs=0.02)
    assert page.evaluate("vm.state.view") == "distributions"
    assert float(page.locator("[data-metric=cas] input").first.input_value()) == low
    page.locator("[data-metric=cas] input").last.fill("0.6")
    page.locator("[data-metric=cas] input").last.press("Enter")
    assert page.evaluate("vm.state.ranges.cas") == [low, 0.6]
    page.locator("[data-metric=cas] button").click()
    assert page.evaluate("vm.state.ranges") == {}


def test_dots_are_reached_with_keys_and_pointer(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=distributions", folder=folder)
    canvas = page.locator("[data-metric=cas] canvas")
    canvas.focus()
    for key in ("ArrowRight", "ArrowDown"):
        canvas.press(key)
    # the clip of bee whose score is the next from ant's lowest, 0.4
    assert text_of(page, "[data-metric=cas] .readout") == f"bee/0.mp4: {BASE['bee']:.3f}"
    canvas.press("ArrowRight")
    assert text_of(page, "[data-metric=cas] .readout") == "bee/0.mp4: 0.650"
    canvas.press("Enter")
    assert page.evaluate("[vm.state.view, vm.state.clip]") == ["clip", "second/bee/0.mp4"]
    page.go_back()
    box = canvas.bounding_box()
    x = box["x"] + 10 + 0.4 * (box["width"] - 20)
    for y in range(20, 48, 2):  # the strip of ant; dots are spread over its height
        page.mouse.move(x, box["y"] + y)
        if text_of(page, "[data-metric=cas] .readout"):
            break
    assert text_of(page, "[data-metric=cas] .readout") == "ant/0.mp4: 0.400"


def test_strips_count_what_is_missing(open_report: OpenReport, folder: Path) -> None:
    names = open_report("view=distributions", folder=folder).locator("[data-metric=tcs] .strip-name").all_inner_texts()
    assert [" ".join(name.split()) for name in names] == [
        "ant 6 clips, median 0.525", "bee 6 clips, median 0.600", "cat 0 clips, 6 missing",
    ]  # fmt: skip


def test_what_got_worse_stands_first(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=changes", folder=folder)
    means = page.locator("table.means tbody tr").all_inner_texts()
    rows = [" ".join(row.split()).replace("\N{MINUS SIGN}", "-") for row in means]
    assert rows[0] == "TCS 0.703 0.503 -0.200 [-0.220, -0.180] worse 0.010 6 3 0 0"
    assert rows[1] == "CAS 0.601 0.651 +0.050 [+0.030, +0.070] better, not significant 0.300 9 3 0 0"
    items = [" ".join(item.split()) for item in page.locator(".pair-item").all_inner_texts()]
    assert [item.split("mp4")[0].split()[-1] for item in items[:3]] == ["bee/0.", "bee/2.", "bee/1."]
    assert "TCS 0.600 → 0.300, −0.300 New events: TCS vanished without cause" in items[0]
    assert "New events" not in items[3]
    assert any("Scores lost: OIS: ValueError: broken" in item for item in items)
    link = page.locator(".pair-item").first.locator("a").last.get_attribute("href")
    page.goto(page.url.split("#")[0] + link)
    assert page.evaluate("[vm.state.view, vm.state.a, vm.state.b, vm.state.clip]") == [
        "compare", "0/bee", "1/bee", "first/bee/0.mp4",
    ]  # fmt: skip


def test_a_mean_that_is_not_tested_is_not_called_significant(open_report: OpenReport, folder: Path) -> None:
    """Of the two means of INDEX one has no p after Holm."""
    page = open_report("view=about", folder=folder)
    page.evaluate(
        """() => { for (const row of vm.data.index.changes[0].rows) if (row.metric === "tcs") row.p_holm = null;
                   vm.go({ view: "changes" }); }"""
    )
    assert text_of(page, "table.means tbody tr").endswith("worse – 6 3 0 0")
    assert page.locator("table.means tbody tr").first.locator("b").count() == 0


def test_a_refused_comparison_says_why(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=changes&pair=1.0", folder=folder)
    assert "cannot be compared: the presets differ: embedded, openmmlab" in text_of(page)
    assert page.locator(".pair-item").count() == 0


def test_means_by_tag(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=groups", folder=folder)
    rows = [" ".join(row.split()) for row in page.locator("table.groups tbody tr").all_inner_texts()]
    assert rows == ["one way 6 0.432 [0.400, 0.500] –", "to and fro 6 0.654 [0.600, 0.700] 0.200 1 clip"]
    for _ in range(2):
        page.get_by_role("button", name="TCS").click()
        assert page.locator("table.groups tbody th").all_inner_texts() == ["to and fro", "one way"]
    page.locator("main select").first.select_option("0/ant")
    link = page.locator("table.groups tbody th a").first.get_attribute("href")
    assert "f.tag.pattern=to+and+fro&f.model=ant&f.run=first" in link


def test_about_says_where_the_numbers_come_from(open_report: OpenReport, folder: Path) -> None:
    shown = text_of(open_report("view=about", folder=folder))
    for text in (
        "18 of 20 clips", "2 clips left out: not among the worst", "a remark on the report", "a remark on the run",
        "TCS 2", "2026-11-23 12:00 UTC", "uPlot", "0.2.0",
    ):  # fmt: skip
        assert text in shown


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("view", VIEWS)
def test_no_text_is_lost(open_report: OpenReport, tmp_path: Path, view: str, width: int) -> None:
    index = replaced(made_index(), "bee", "a-model-with-a-rather-long-name/" + 3 * "and-more-")
    page = open_report(f"view={view}", width=width, folder=write_page(tmp_path / "out", index))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    lost = page.evaluate(
        """() => [...document.querySelectorAll("main *")].filter(node => {
          const style = getComputedStyle(node);
          const cut = node.scrollWidth > node.clientWidth + 1 && ["hidden", "clip"].includes(style.overflowX);
          return cut && node.textContent.trim() && !(style.textOverflow === "ellipsis" && node.title);
        }).map(node => node.outerHTML)"""
    )
    assert lost == []


@pytest.mark.parametrize("view", VIEWS)
def test_hostile_names_are_text(open_report: OpenReport, tmp_path: Path, view: str) -> None:
    index = made_index()
    for text in (
        "bee",
        "first",
        "one way",
        "a remark on",
        "no object moved",
        "vanished without cause",
        "preset embedded",
    ):
        index = replaced(index, text, HOSTILE + text)
    page = open_report(f"view={view}", folder=write_page(tmp_path / "out", index))
    assert HOSTILE in page.locator("main").text_content()
    assert page.locator("main x-made, main script, main [onerror]").count() == 0
    assert page.evaluate("window.ran") is None


def test_a_rectangle_on_two_scores_filters_by_both(open_report: OpenReport, folder: Path) -> None:
    page = open_report("view=distributions&metric=cas&other=mss", folder=folder)
    assert [select.input_value() for select in page.locator(".scatter select").all()] == ["cas", "mss"]
    canvas = page.locator(".scatter canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    left, right, top, bottom = 48, box["width"] - 12, 12, box["height"] - 40  # of the axes, from 0 to 1
    corners = [
        (box["x"] + left + across * (right - left), box["y"] + bottom - up * (bottom - top))
        for across, up in ((0.2, 0.9), (0.55, 0.3))
    ]
    page.mouse.move(*corners[0])
    page.mouse.down()
    page.mouse.move(*corners[1], steps=3)
    page.mouse.up()
    ranges = page.evaluate("vm.state.ranges")
    assert ranges["cas"] == pytest.approx([0.2, 0.55], abs=0.02)
    assert ranges["mss"] == pytest.approx([0.3, 0.9], abs=0.02)
    # the clip of ant with 0.4 in both
    page.mouse.move(box["x"] + left + 0.4 * (right - left), box["y"] + bottom - 0.4 * (bottom - top))
    assert text_of(page, ".scatter .readout") == "ant, ant/0.mp4: CAS 0.400, MSS 0.400"
