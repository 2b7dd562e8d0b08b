"""Marks in Chromium: a whole study by keys alone at phone width, and one by mouse."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.rating.made import study
from tests.rating.test_page import ANSWERED, AXE, OPEN, consent, open_page, serve
from vmmetrics.rating.export import export
from vmmetrics.rating.moments import KINDS

__all__ = ["open_page", "serve"]
pytestmark = pytest.mark.browser
ASKED = {"unmarked_share": ""}


def by_keys(page: Any) -> None:
    """Mark the second to the fourth frame, a little right of the middle, and the first frame as a whole."""
    for _ in range(20):
        page.keyboard.press(",")
    for key in (".", "b", ".", ".", "e", "ArrowRight", "ArrowRight", "Shift+ArrowDown", "2"):
        page.keyboard.press(key)
    page.wait_for_selector(ANSWERED)
    page.keyboard.press("a")
    page.wait_for_selector(".marks li >> nth=0")
    for _ in range(6):
        page.keyboard.press(",")
    for key in ("b", "e", "w", "5"):
        page.keyboard.press(key)


def asked(page: Any) -> str | None:
    """Return the key of what an attention check asks for, or None."""
    legend = page.inner_text("legend")
    return legend.rpartition("choose: ")[2][0] if "attention check" in legend else None


def go_on(page: Any, act: Any) -> None:
    """Answer every trial, the practice included: checks as they ask, the others by an act."""
    while True:
        page.wait_for_selector(f"{OPEN}, main[data-step=done], p ~ div > #next:not([disabled])")
        if page.query_selector("main[data-step=done]"):
            return
        if not page.query_selector(OPEN):
            page.keyboard.press("Space")
            page.wait_for_function("document.querySelector('video').currentTime > 0.2")  # the example is seen again
            page.keyboard.press("Enter")
            page.wait_for_selector(".clips, main[data-step=done]")
            continue
        root = page.query_selector("fieldset")
        key = asked(page)
        if key:  # a kind alone is enough
            page.keyboard.press(key)
        else:
            act(page)
        page.wait_for_selector(ANSWERED)
        page.keyboard.press("Enter")
        root.wait_for_element_state("hidden")


def test_a_whole_study_by_keys_alone(serve: Any, open_page: Any, npm: Path, tmp_path: Path) -> None:
    made = study(
        tmp_path, "moments", prompts=2, models=3, items=4, gold=1, traps=1, repeats=1, training=2, questions=ASKED
    )
    served = serve(made)
    page = open_page(served.link, 390, bypass_csp=True)
    page.add_script_tag(path=npm / "axe-core" / "axe.min.js")
    consent(page)
    page.wait_for_selector(".clips")
    for key in ("b", "e", "w", "1", "Enter"):  # before the end
        page.keyboard.press(key)
    assert not page.query_selector(f"{OPEN}, {ANSWERED}")
    first = True

    def act(page: Any) -> None:
        nonlocal first
        by_keys(page)
        if first:
            assert page.evaluate(AXE) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        first = False

    go_on(page, act)
    session = served.session
    assert session.finished and len(session.answers) == len(session.trials) == 7
    step = made.seconds(session.trials[0].media[0]) / 10
    for at, answer in session.answers.items():
        trial = session.trials[at]
        if trial.kind == "trap":
            assert answer.values == {"unmarked_share": trial.expected} and answer.marks == ()
            continue
        assert answer.values == {"unmarked_share": 2} and [mark.kind for mark in answer.marks] == [2, 5]
        some, whole = answer.marks
        assert (some.begin, some.end) == pytest.approx((step, 4 * step), abs=0.01)
        assert some.box == pytest.approx((0.4, 0.35, 0.7, 0.7))
        assert (whole.begin, whole.end) == pytest.approx((0, step), abs=0.01) and whole.box == (0, 0, 1, 1)
    results = export(made, made.path / "export")
    failed = {one.name for criteria in results.judged.values() for one in criteria if not one.passed}
    assert failed <= {"playing_time", "refresh_rate", "seconds_to_vote"}  # by the machine
    with (made.path / "export" / "moments.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == (0 if failed else 8)
    assert failed or {row["kind"] for row in rows} == {KINDS[1], KINDS[4]}


def drag(page: Any, area: Any) -> None:
    """Drag a box from its lower right corner to the upper left."""
    page.mouse.move(area["x"] + 0.75 * area["width"], area["y"] + 0.8 * area["height"])
    page.mouse.down()
    page.mouse.move(area["x"] + 0.25 * area["width"], area["y"] + 0.2 * area["height"], steps=5)
    page.mouse.up()


def test_marks_by_mouse_taken_back_and_nothing_wrong(serve: Any, open_page: Any, tmp_path: Path) -> None:
    checks = {"training": 0, "gold": 0, "traps": 0, "repeats": 0}
    made = study(tmp_path, "moments", prompts=2, models=2, items=4, questions=ASKED, **checks)
    served = serve(made)
    page = open_page(served.link, bypass_csp=True)
    consent(page)
    page.wait_for_selector(OPEN)
    for text in ("Nothing", "Something else"):
        page.click(f".choices label:has-text('{text}')")
    assert not page.query_selector(ANSWERED)
    lacks = page.locator("output:has-text('Still missing')")
    assert lacks.inner_text() == "Still missing: begin, end, place."
    slider = page.query_selector(".timeline input").bounding_box()
    page.mouse.click(slider["x"] + 0.45 * slider["width"], slider["y"] + slider["height"] / 2)
    page.click("button:has-text('Begins here')")
    page.click("button:has-text('On (.)')")
    page.click("button:has-text('Ends here')")
    area = page.query_selector(".area").bounding_box()
    assert area["width"] / area["height"] == pytest.approx(48 / 32, abs=0.02)
    assert lacks.inner_text() == "Still missing: place."
    drag(page, area)
    page.wait_for_selector(ANSWERED)
    assert lacks.count() == 0
    page.click("button:has-text('Add mark')")
    assert page.is_disabled("button:has-text('Add mark')") and page.query_selector(ANSWERED)
    assert page.locator(".marks li").count() == page.locator(".strip .bar").count() == 1
    assert page.is_disabled(".choices label:has-text('Nothing') input")
    page.click("button:has-text('Begins here')")
    assert not page.query_selector(ANSWERED)  # what is begun would be lost
    page.click("button:has-text('Take back')")
    assert page.query_selector(ANSWERED) and page.locator(".marks li").count() == 1
    (dragged,) = page.evaluate("[...document.querySelectorAll('.marks li')].map((one) => one.textContent)")
    assert "Something else" in dragged
    page.click("button:has-text('Take back')")
    assert not page.query_selector(ANSWERED) and page.is_disabled("button:has-text('Take back')")
    page.click(".choices label:has-text('jumps')")
    page.click("button:has-text('Begins here')")
    page.click("button:has-text('Ends here')")
    drag(page, area)
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelector('video').ended")
    page.click("#next")
    page.wait_for_selector(".position:has-text('2 of')")
    (mark,) = served.session.answers[0].marks
    assert mark.kind == 3 and mark.box == pytest.approx((0.25, 0.2, 0.75, 0.8), abs=0.01)
    assert 0 < mark.begin < mark.end < 0.8 * made.seconds(served.session.trials[0].media[0])
    page.wait_for_selector(OPEN)
    page.click(".choices label:has-text('Nothing')")
    page.click("#next")
    page.wait_for_selector(".position:has-text('3 of')")
    assert served.session.answers[1].values == {"unmarked_share": 0} and served.session.answers[1].marks == ()
