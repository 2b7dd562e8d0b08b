"""The raters' page and the owner's in Chromium: whole studies by keyboard, resumed, and with a server that fails."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.rating.made import filled, study
from vmmetrics.rating import DESIGNS
from vmmetrics.rating.export import export
from vmmetrics.rating.journal import read_state
from vmmetrics.rating.study import Study
from vmmetrics.rating.trials import Session

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "vmmetrics" / "rating" / "page"
OPEN, ANSWERED = "fieldset:not([disabled])", "#next:not([disabled])"
RATED = [name for name in DESIGNS if name != "moments"]  # which has tests of its own
AXE = "() => axe.run().then(found => found.violations.filter(one => ['serious', 'critical'].includes(one.impact)))"


class Served:
    """A study that is served by a process of its own."""

    def __init__(self, made: Study) -> None:
        self.study, self.port = made, 0
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "vmmetrics", "rate", "serve", self.study.path, "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        limit = threading.Timer(60, self.process.kill)
        limit.start()
        assert self.process.stdout and self.process.stderr
        self.link = self.process.stdout.readline().strip()
        said = "".join(self.process.stderr.readline() for _ in range(2))
        limit.cancel()
        match = re.search(r"http://\S+/o/\S+", said)
        assert self.link and match, said
        self.owner, self.port = match[0], int(self.link.split(":")[2].split("/")[0])

    @property
    def session(self) -> Session:
        (session,) = read_state(self.study).sessions.values()
        return session


@pytest.fixture
def serve() -> Iterator[Callable[[Study], Served]]:
    made: list[Served] = []

    def serve(of: Study) -> Served:
        made.append(Served(of))
        return made[-1]

    yield serve
    for one in made:
        one.process.kill()
        one.process.communicate()


@pytest.fixture
def open_page(browser: Any, faults: list[str]) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a page in a browser of its own; what goes wrong in it fails the test."""
    contexts: list[Any] = []

    def open_page(url: str, width: int = 1280, allowed: str = "", **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: faults.append(f"{error.message}\n{error.stack}"))
        page.on("console", lambda text: faults.append(text.text) if text.type == "error" and not (
            allowed and allowed in text.text) else None)  # fmt: skip
        page.on("request", lambda asked: None if asked.url.startswith(("http://127.0.0.1:", "blob:", "data:"))
                else faults.append(f"asked for {asked.url}"))  # fmt: skip
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()


def consent(page: Any) -> None:
    page.wait_for_selector("#begin")
    assert page.is_disabled("#begin")
    for key in ("Tab", "Space", "Tab", "Space", "Tab", "Enter"):
        page.keyboard.press(key)


def answer(page: Any, key: str) -> None:
    page.wait_for_selector(OPEN)
    for _ in page.query_selector_all("fieldset"):
        page.keyboard.press(key)
    page.wait_for_selector(ANSWERED)
    page.keyboard.press("Enter")


def position(page: Any) -> str:
    return str(page.wait_for_selector(".position").inner_text())


@pytest.mark.parametrize(("design", "width"), [*zip(RATED, cycle([1280, 390]), strict=False)])
def test_a_whole_study_by_keyboard(
    design: str, width: int, serve: Any, open_page: Any, npm: Path, tmp_path: Path
) -> None:
    made = study(tmp_path, design, prompts=2, models=3, items=4, gold=1, traps=1, repeats=1, training=2)
    served = serve(made)
    page = open_page(f"{served.link}?PROLIFIC_PID=p1&SESSION_ID=s1", width, bypass_csp=True)
    page.add_script_tag(path=npm / "axe-core" / "axe.min.js")
    consent(page)
    page.wait_for_selector(".clips")
    assert not page.query_selector(OPEN)  # no answer before the end
    page.keyboard.press("1")
    assert page.is_disabled("#next")
    for _ in range(2):  # practice
        answer(page, "1")
        if page.query_selector("fieldset") is None:
            page.keyboard.press("Enter")
    while "Rate" in page.title() and page.query_selector("main[data-step=done]") is None:
        page.wait_for_selector(f".position, {ANSWERED}, main[data-step=done]")
        if page.query_selector(".position"):
            page.wait_for_selector(OPEN)
            assert page.evaluate(AXE) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            if width > 640 and len(page.query_selector_all("fieldset")) == 1:
                box = page.query_selector("#next").bounding_box()
                assert box["y"] + box["height"] <= 800  # in sight
            seen = page.inner_html("body").partition("<script")[0]
            assert not re.search(r"m[0-2]/|c0000|square|gold|broken", seen)
            number = position(page)
            answer(page, "2")
            page.wait_for_function("before => document.querySelector('.position')?.innerText !== before", arg=number)
        else:
            page.keyboard.press("Enter")
    assert "Keys:" not in page.inner_text("body") and "keep this link" not in page.inner_text("body")
    session = served.session
    assert session.finished and session.source == "prolific"
    assert len(session.answers) == len(session.trials) == 7  # practice is not kept
    for at, stored in session.answers.items():
        for identity, clip in zip(session.trials[at].media, stored.clips, strict=True):
            assert clip.ended and clip.frames >= 1 and clip.width > 100 and clip.stalled < 0.1
            assert clip.seconds == pytest.approx(made.seconds(identity), abs=1.0)
        assert stored.seconds > 0 and stored.display.refresh > 0
        assert stored.display.window == (width, 800)
    assert len(page.url.partition("#r=")[2]) == 32
    results = export(made, made.path / "export")
    assert len(results.judged) == 1


def test_a_link_resumes_in_another_browser_and_two_tabs_give_one_answer(
    serve: Any, open_page: Any, tmp_path: Path
) -> None:
    served = serve(study(tmp_path, prompts=2, models=2, items=4, training=0, gold=0, repeats=0))
    page = open_page(served.link)
    consent(page)
    answer(page, "4")
    page.wait_for_selector(".position:has-text('2 of')")
    other = open_page(page.url)
    assert position(other) == position(page) == "2 of 6"
    answer(page, "3")
    page.wait_for_selector(".position:has-text('3 of')")
    answer(other, "5")  # the later one of two for the same trial counts
    other.wait_for_selector(".position:has-text('3 of')")
    session = served.session
    assert session.next == 2 and session.changes == 1
    assert session.answers[1].values == {"motion": 5}


def test_another_person_at_the_same_browser_begins_anew(serve: Any, open_page: Any, tmp_path: Path) -> None:
    served = serve(study(tmp_path, prompts=2, models=2, items=4, votes=9, training=0, gold=0, repeats=0))
    page = open_page(f"{served.link}?PROLIFIC_PID=p1")
    consent(page)
    answer(page, "4")
    page.wait_for_selector(".position:has-text('2 of')")
    first = page.url
    page.goto(served.link)  # by the bare link, and the cookie
    page.wait_for_selector(".position:has-text('2 of')")
    assert page.url == first and page.get_attribute("footer a", "href") == first
    page.goto(f"{served.link}?PROLIFIC_PID=p2")
    consent(page)
    page.wait_for_selector(".position:has-text('1 of')")
    second = page.url
    page.click("#other")
    consent(page)
    page.wait_for_selector(".position:has-text('1 of')")
    assert len({first, second, page.url}) == 3
    sessions = read_state(served.study).sessions.values()
    assert [(one.source, one.next) for one in sessions] == [("prolific", 1), ("prolific", 0), ("", 0)]


def test_a_server_that_is_killed_costs_no_answer(serve: Any, open_page: Any, tmp_path: Path) -> None:
    checks = {"training": 0, "gold": 0, "traps": 0, "repeats": 0}
    served = serve(study(tmp_path, "pair", prompts=2, models=2, items=4, in_turn=True, **checks))
    page = open_page(served.link, allowed="ERR_CONNECTION_REFUSED")
    consent(page)
    page.wait_for_selector(OPEN)
    served.process.kill()
    served.process.communicate()
    answer(page, "1")
    page.wait_for_selector("#said:has-text('does not answer')")
    served.start()
    page.wait_for_selector(".position:has-text('2 of')")
    assert served.session.next == 1
    answer(page, "2")  # of two pairs
    page.wait_for_selector("main[data-step=done]")
    assert served.session.finished


def test_stalls_time_out_of_sight_and_replays_are_recorded(serve: Any, open_page: Any, tmp_path: Path) -> None:
    served = serve(study(tmp_path, prompts=2, models=2, items=4, training=0, gold=0, traps=0, repeats=0))
    page = open_page(served.link, bypass_csp=True)
    page.evaluate("""() => addEventListener("playing", (event) => {
        if (window.stalled) return;
        window.stalled = true;
        setTimeout(() => event.target.dispatchEvent(new Event("waiting")), 20);
        setTimeout(() => event.target.dispatchEvent(new Event("playing")), 300);
    }, true)""")
    consent(page)
    page.wait_for_selector(OPEN)
    page.keyboard.press("Space")  # again
    page.wait_for_selector("#play[disabled]")
    page.wait_for_selector("#play:not([disabled])")
    answer(page, "4")
    page.wait_for_selector(".position:has-text('2 of')")
    (clip,) = served.session.answers[0].clips
    assert clip.stalls == 1 and 0.1 < clip.stalled < 2
    assert clip.replays == 1


def test_a_clip_that_is_paused_is_played_again_and_time_away_is_not_thinking(
    serve: Any, open_page: Any, tmp_path: Path
) -> None:
    served = serve(study(tmp_path, prompts=2, models=2, items=4, training=0, gold=0, traps=0, repeats=0))
    page = open_page(served.link, bypass_csp=True)
    page.evaluate("""() => addEventListener("playing", (event) => {
        if (!window.paused) setTimeout(() => event.target.pause(), 100);
        window.paused = true;
    }, true)""")
    consent(page)
    page.wait_for_selector("#play:not([disabled])")
    assert page.evaluate("window.paused") and not page.query_selector(OPEN)
    page.keyboard.press("Space")
    page.wait_for_selector(OPEN)
    for away in ("true", "false"):
        page.evaluate(f"""() => new Promise((resolve) => {{
            Object.defineProperty(document, "hidden", {{ value: {away}, configurable: true }});
            document.dispatchEvent(new Event("visibilitychange"));
            setTimeout(resolve, {away} ? 800 : 0);
        }})""")
    answer(page, "4")
    page.wait_for_selector(".position:has-text('2 of')")
    stored = served.session.answers[0]
    (clip,) = stored.clips
    assert clip.ended and clip.replays == 0 and clip.frames <= 10
    assert clip.seconds == pytest.approx(served.study.seconds(served.session.trials[0].media[0]), abs=0.3)
    assert stored.display.hidden >= 0.8 > stored.seconds


def test_a_request_that_fails_and_a_browser_that_loads_nothing_are_waited_for(
    serve: Any, open_page: Any, tmp_path: Path
) -> None:
    served = serve(study(tmp_path, prompts=2, models=2, items=4, levels=11, training=0, gold=0, traps=0, repeats=0))
    page = open_page(served.link, allowed="Failed to load resource", bypass_csp=True)
    page.evaluate("""() => {
        const later = setTimeout, add = HTMLVideoElement.prototype.addEventListener;
        window.setTimeout = (call, ms) => later(call, ms / 10);
        HTMLVideoElement.prototype.addEventListener = function (name, ...more) {
            if (name !== "loadeddata") add.call(this, name, ...more);
        };
    }""")
    failing = [lambda route: route.abort(), lambda route: route.fulfill(status=503)]
    page.route("**/clip/*", lambda route: failing.pop()(route) if failing else route.continue_())
    consent(page)
    answer(page, "-")
    page.wait_for_selector(".position:has-text('2 of')")
    assert not failing and served.session.answers[0].values == {"motion": 11}


def test_withdrawal_and_another_language(serve: Any, open_page: Any, tmp_path: Path) -> None:
    texts = {"language": "ar", "direction": "rtl", "begin": "ابدأ", "level_1": "سيئ"}
    served = serve(study(tmp_path, prompts=2, models=2, items=4, training=0, texts=texts))
    page = open_page(served.link, 390)
    assert page.wait_for_selector("#begin").inner_text() == "ابدأ"
    assert page.get_attribute("html", "dir") == "rtl" and page.get_attribute("html", "lang") == "ar"
    consent(page)
    page.wait_for_selector(OPEN)
    assert "سيئ" in page.inner_text("fieldset")
    answer(page, "1")
    page.wait_for_selector(".position:has-text('2 of')")
    page.click("#withdraw")
    page.click("footer button >> nth=0")
    page.wait_for_selector("main[data-step=withdrawn]")
    assert served.session.withdrawn and served.session.next == 1


def test_a_browser_that_plays_no_h264_says_so_before_anything_is_stored(
    serve: Any, browser: Any, tmp_path: Path
) -> None:
    served = serve(study(tmp_path))
    page = browser.new_page()
    page.add_init_script("HTMLMediaElement.prototype.canPlayType = () => ''")
    page.goto(served.link)
    page.wait_for_selector("main p:has-text('H.264')")
    assert page.query_selector("#begin") is None and not (served.study.path / "answers.jsonl").exists()
    page.close()


def test_the_owner_sees_figures_that_raters_do_not(serve: Any, open_page: Any, tmp_path: Path) -> None:
    made = filled(study(tmp_path, items=12, votes=9, pay=2.0, currency="EUR"), 4)
    served = serve(made)
    page = open_page(served.owner)
    page.wait_for_selector("table")
    text = page.inner_text("main")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert "48 of 108" in text and "8.00 EUR" in text and "α (ordinal)" in text
    key = served.owner.rpartition("/")[2]
    assert page.request.get(f"{served.link.rpartition('/s/')[0]}/o/{key}").status == 404


@pytest.mark.parametrize(
    "command",
    [
        ["tsc", "-p", PAGE / "jsconfig.json"],
        ["eslint", "--max-warnings", "0", PAGE],
        ["prettier", "--log-level", "warn", "--check", *sorted(PAGE.glob("*.[jct]s*"))],
    ],
    ids=["types", "rules", "form"],
)
def test_nothing_is_found_in_the_scripts(npm: Path, command: list[str | Path]) -> None:
    checked = subprocess.run([npm / ".bin" / command[0], *command[1:]], capture_output=True, text=True, cwd=ROOT)
    assert (checked.returncode, checked.stdout) == (0, ""), checked.stdout + checked.stderr
