"""Offline pages of a study in Chromium, from the disk: a whole session, closed in the middle, and given back."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rating.made import study
from tests.rating.test_page import AXE, OPEN, answer, consent, position
from tests.viewer.conftest import ARGUMENTS, LOCAL, program
from vmmetrics.rating.export import export
from vmmetrics.rating.journal import AnswerJournal, read_packs, read_state
from vmmetrics.rating.merge import merge
from vmmetrics.rating.pack import write_packs
from vmmetrics.rating.sessions import RaterSessions
from vmmetrics.rating.study import Study, read_study

pytestmark = pytest.mark.browser


@pytest.fixture
def open_page(browser: Any, faults: list[str], tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a page in a browser process of its own, with the store of the one before."""
    processes: list[Any] = []

    def open_page(path: Path, width: int = 1280, script: str = "") -> Any:
        while processes:
            processes.pop().close()
        context = browser.browser_type.launch_persistent_context(
            tmp_path / "profile", executable_path=program(), args=ARGUMENTS, bypass_csp=False,
            viewport={"width": width, "height": 800},
        )  # fmt: skip
        processes.append(context)
        if script:
            context.add_init_script(script)
        return open_tab(path)

    def open_tab(path: Path) -> Any:
        page = processes[0].new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: faults.append(f"{error.message}\n{error.stack}"))
        page.on("console", lambda text: faults.append(text.text) if text.type == "error" else None)
        page.on(
            "request", lambda asked: None if asked.url.startswith(LOCAL) else faults.append(f"asked for {asked.url}")
        )
        page.goto(path.as_uri())
        return page

    open_page.tab = open_tab  # type: ignore[attr-defined]
    yield open_page
    for context in processes:
        context.close()


def packed(folder: Path, design: str = "acr", **options: Any) -> tuple[Study, Path]:
    given = {"prompts": 2, "models": 3, "items": 4, "gold": 1, "traps": 1, "repeats": 1, "training": 2, **options}
    made = study(folder, design, **given)
    write_packs(made, folder / "pages", 1)
    return made, folder / "pages" / "rater-1.html"


def saved(page: Any, folder: Path) -> Path:
    with page.expect_download() as download:
        page.focus("#save")
        page.keyboard.press("Enter")
    path = folder / str(download.value.suggested_filename)
    download.value.save_as(path)
    return path


def practise(page: Any, times: int) -> None:
    for _ in range(times):
        answer(page, "1")
        if page.query_selector("fieldset") is None:
            page.keyboard.press("Enter")


def rate(page: Any, until: str) -> None:
    """Answer until a selector is there."""
    while page.wait_for_selector(f".position, {until}") and page.query_selector(until) is None:
        before = position(page)
        page.wait_for_selector(OPEN)
        answer(page, "2")
        page.wait_for_function("before => document.querySelector('.position')?.innerText !== before", arg=before)


@pytest.mark.parametrize(("design", "width"), [("acr", 1280), ("pair", 390)])
def test_a_whole_session_closed_in_the_middle_and_given_back(
    design: str, width: int, open_page: Any, tmp_path: Path
) -> None:
    made, path = packed(tmp_path, design)
    page = open_page(path, width)
    page.wait_for_selector("#begin")
    assert page.evaluate("localStorage.length") == 0  # nothing before the consent
    consent(page)
    page.wait_for_selector(".clips")
    assert not page.query_selector(OPEN)  # no answer before the end
    page.keyboard.press("1")
    assert page.is_disabled("#next")
    practise(page, 2)
    rate(page, ".position:has-text('4 of')")
    early = saved(page, tmp_path)
    page.wait_for_selector(OPEN)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    seen = page.evaluate("document.body.innerText") + page.inner_html("main")
    assert not re.search(r"m[0-2]/|c0000|square|gold|broken", seen)
    early = early.rename(tmp_path / "early.json")
    page = open_page(path, width)  # the browser was closed
    page.wait_for_selector(".position:has-text('4 of 7')")
    rate(page, "main[data-step=done]")
    assert page.query_selector("#other") is None and "lab@example.org" in page.inner_text("main")
    back = saved(page, tmp_path)
    page = open_page(path, width)
    page.wait_for_selector("main[data-step=done]")  # and may be saved again
    content, given = json.loads(back.read_text()), json.loads(early.read_text())
    assert len(content["answers"]) == 7 and given["answers"] == content["answers"][:3]
    assert back.name == f"answers-{content['rater']}.json"
    assert [merge(made, one)[:3] for one in (early, back, early)] == [(1, 3, 0), (1, 7, 0), (0, 0, 0)]
    (session,) = read_state(made).sessions.values()
    assert session.finished and session.changes == 0
    for at, stored in session.answers.items():
        for identity, clip in zip(session.trials[at].media, stored.clips, strict=True):
            assert clip.ended and clip.frames >= 1 and clip.width > 100 and clip.stalls == 0
            assert clip.seconds == pytest.approx(made.seconds(identity), abs=1.0)
        assert stored.seconds > 0 and stored.display.refresh > 0 and stored.display.window == (width, 800)
    assert _answers(made) == _online(made, content, tmp_path / "online")


def _online(made: Study, content: dict[str, Any], folder: Path) -> list[str]:
    """Return what a server exports of the same session, sent what the page stored."""
    shutil.copytree(made.path, folder, ignore=shutil.ignore_patterns("answers.jsonl", "export"))
    online = read_study(folder)
    with AnswerJournal(online) as journal:
        lines = [*journal.start(), journal.take(read_packs(made)[content["session"]])]
        sessions = RaterSessions(journal, clock=None)
        for one in content["answers"]:
            lines += sessions.answer(content["key"], one)
        journal.write(lines)
    return _answers(online)


def _answers(made: Study) -> list[str]:
    export(made, made.path / "export")
    texts = [(made.path / "export" / name).read_text() for name in ("answers.csv", "sessions.csv")]
    return [re.sub(r"\d{4}-\d\d-\d\dT[\d:+]*(,[\d.]+)?", "", text) for text in texts]


def test_the_policy_lets_no_other_script_and_no_request_through(
    open_page: Any, faults: list[str], tmp_path: Path
) -> None:
    _, path = packed(tmp_path)
    page = open_page(path)
    page.wait_for_selector("#begin")
    broken = page.evaluate("""async () => {
        const script = document.createElement("script"), image = new Image();
        script.textContent = "window.ran = true";
        image.src = "http://127.0.0.1:1/image";
        document.body.append(script, image);
        const got = await fetch("http://127.0.0.1:1/").catch(() => null);
        await new Promise((resolve) => setTimeout(resolve, 200));
        return [window.ran, got];
    }""")
    assert broken == [None, None]
    said = "\n".join(faults)
    assert all(f"{name}-src" in said for name in ("script", "connect", "img")) and said.count("blocked") == 3
    faults.clear()


def test_the_page_is_accessible(open_page: Any, npm: Path, tmp_path: Path) -> None:
    _, path = packed(tmp_path, training=0)
    page = open_page(path, 390, script=(npm / "axe-core" / "axe.min.js").read_text())
    page.wait_for_selector("#begin")
    assert page.evaluate(AXE) == []
    consent(page)
    page.wait_for_selector(OPEN)
    assert page.evaluate(AXE) == []


def test_two_tabs_give_one_answer_and_withdrawal_is_given_back(open_page: Any, tmp_path: Path) -> None:
    made, path = packed(tmp_path, training=0)
    page = open_page(path)
    consent(page)
    page.wait_for_selector(OPEN)
    other = open_page.tab(path)
    other.wait_for_selector(OPEN)
    answer(page, "3")
    page.wait_for_selector(".position:has-text('2 of')")
    answer(other, "5")  # of the first trial again: it was answered, and the page goes on
    other.wait_for_selector(".position:has-text('2 of')")
    other.click("#withdraw")
    other.click("footer button >> nth=0")
    other.wait_for_selector("main[data-step=withdrawn]")
    assert "lab@example.org" in other.inner_text("main") and other.query_selector("#other") is None
    back = saved(other, tmp_path)
    page.reload()
    page.wait_for_selector("main[data-step=withdrawn]")
    merge(made, back)
    (session,) = read_state(made).sessions.values()
    assert session.withdrawn and session.answers[0].values == {"motion": 3} and session.next == 1


def test_answers_are_deleted_from_the_browser_when_the_rater_says_so(open_page: Any, tmp_path: Path) -> None:
    _, path = packed(tmp_path, training=0, items=2, repeats=0)
    page = open_page(path)
    page.wait_for_selector("#begin")
    assert "until you delete them" in page.inner_text("main")
    for step, end in (("done", rate), ("withdrawn", None)):
        consent(page)
        page.wait_for_selector(OPEN)
        if end:
            end(page, f"main[data-step={step}]")
        else:
            page.click("#withdraw")
            page.click("footer button >> nth=0")
        page.wait_for_selector(f"main[data-step={step}]")
        page.click("#erase")
        page.click("footer button >> nth=1")  # no
        saved(page, tmp_path)
        assert page.evaluate("localStorage.length") == 1
        page.click("#erase")
        page.click("footer button >> nth=0")
        page.wait_for_selector("text=no longer in this browser")
        assert page.evaluate("localStorage.length") == 0 and page.inner_text("footer") == ""
        page.reload()
        page.wait_for_selector("#begin")


def test_a_browser_that_stores_nothing_asks_before_answers_are_lost(open_page: Any, tmp_path: Path) -> None:
    made, path = packed(tmp_path, training=0)
    page = open_page(path, script="Storage.prototype.setItem = () => { throw new Error('full'); }")
    consent(page)
    page.wait_for_selector(OPEN)
    asked: list[str] = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    rate(page, "main[data-step=done]")
    back = saved(page, tmp_path)
    assert merge(made, back).answers == 7
    page.close(run_before_unload=True)
    page.wait_for_timeout(500)
    assert asked == ["beforeunload"]
