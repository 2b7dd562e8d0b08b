"""The gallery of thousands of clips: rows in the page, keyboard, hover, table, filter bar; links that lead nowhere."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.conftest import OpenReport
from tests.viewer.made_rows import MadeRow, made_index, with_index
from tests.viewer.made_run import HOSTILE, PROMPTS

pytestmark = pytest.mark.browser
MANY = 5000
ACTIVE = "vm.rows()[Number(document.activeElement.dataset.position ?? -1)]"
IN_SIGHT = """() => [...document.querySelectorAll('[data-position]')].filter(item => {
  const { top, bottom } = item.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}).map(item => Number(item.dataset.position)).sort((a, b) => a - b)"""
FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"


@pytest.fixture(scope="session")
def many(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a report of many clips without files, whose TCS falls from clip to clip."""
    rows = [
        MadeRow(f"m{n % 3}/{n}.mp4", model=f"m{n % 3}", prompt="a dog", scores={"tcs": round(1 - n / MANY, 4)})
        for n in range(MANY)
    ]
    return with_index(report, tmp_path_factory.mktemp("many") / "report", made_index(rows))


@pytest.mark.parametrize("form", ["", "&table=1"])
def test_only_clips_near_the_visible_ones_are_in_the_page(form: str, open_report: OpenReport, many: Path) -> None:
    page = open_report(f"view=gallery{form}", folder=many)
    scroller = "(document.querySelector('.lines') ?? document.scrollingElement)"
    for share in (0, 0.3, 0.71, 1):
        page.evaluate(f"share => {scroller}.scrollTo(0, share * {scroller}.scrollHeight)", share)
        page.evaluate(FRAMES)
        positions = page.evaluate(IN_SIGHT)
        assert positions == list(range(positions[0], positions[-1] + 1))  # no gap
        assert len(positions) >= 9
        assert page.evaluate("document.querySelectorAll('[data-position]').length") < 160
        if share == 1:
            assert positions[-1] == MANY - 1
        elif share == 0.3:
            assert 0.25 * MANY < positions[0] < 0.35 * MANY
    assert page.get_attribute("[role=grid]", "aria-rowcount") is not None


def test_pictures_that_leave_the_page_free_their_memory(open_report: OpenReport, many: Path) -> None:
    page = open_report("view=gallery", folder=many)
    page.evaluate(
        """() => {
          const src = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
          for (const tile of [...document.querySelectorAll("[data-position]")].slice(0, 2)) {
            tile.append(vm.h("div.poster", {}, vm.h("img", { src, alt: "" })));
          }
          window.pictures = [...document.querySelectorAll(".tiles img")];
        }"""
    )
    assert page.evaluate("pictures.map((image) => image.hasAttribute('src'))") == [True, True]
    page.evaluate("vm.go({ view: 'about' })")
    assert page.evaluate("pictures.map((image) => image.hasAttribute('src'))") == [False, False]


def test_keyboard_in_the_tiles(open_report: OpenReport, many: Path) -> None:
    page = open_report("view=gallery&f.model=m1", folder=many)
    rows = page.evaluate("[...vm.rows()]")
    last = len(rows) - 1
    columns = int(page.get_attribute("[role=grid]", "aria-colcount"))
    page.focus("[data-position='0']")
    for key, position in (
        ("ArrowRight", 1), ("j", 2), ("ArrowDown", 2 + columns), ("k", 1 + columns), ("ArrowUp", 1), ("ArrowUp", 1),
        ("ArrowLeft", 0), ("ArrowLeft", 0), ("End", last), ("ArrowDown", last), ("ArrowRight", last), ("Home", 0),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert page.evaluate(ACTIVE) == rows[position], key
        assert position in page.evaluate(IN_SIGHT), key
        assert page.evaluate("[...document.querySelectorAll('[data-position][tabindex=\"0\"]')].length") == 1
    page.keyboard.press("PageDown")
    below = rows.index(page.evaluate(ACTIVE))
    assert below >= columns
    assert below % columns == 0
    page.keyboard.press("PageUp")
    assert page.evaluate(ACTIVE) == rows[0]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert page.evaluate("[vm.state.view, vm.state.clip]") == ["clip", "run/m1/4.mp4"]


def test_the_reader_comes_back_to_where_he_was(open_report: OpenReport, many: Path) -> None:
    page = open_report("view=gallery&sort=tcs", folder=many)
    page.evaluate("() => { vm.data.detail = () => new Promise(() => {}); }")  # there are none
    page.evaluate("scrollTo(0, 12345)")
    page.evaluate(FRAMES)
    position = page.evaluate(IN_SIGHT)[-8]
    page.click(f"[data-position='{position}'] .name")
    assert page.evaluate("vm.state.clip") == f"run/m{(MANY - 1 - position) % 3}/{MANY - 1 - position}.mp4"
    assert page.evaluate("scrollY") < 12345
    page.go_back()
    page.wait_for_function("() => document.querySelector('main').dataset.view === 'gallery'")
    page.evaluate(FRAMES)
    assert abs(page.evaluate("scrollY") - 12345) < 400  # the clip is wholly in sight
    assert position in page.evaluate(IN_SIGHT)


def test_a_clip_plays_while_the_pointer_rests_on_it(open_report: OpenReport) -> None:
    page = open_report("view=gallery")
    tile = page.locator("[data-position='1'] .poster")
    assert page.locator("video").count() == 0
    tile.hover()
    page.wait_for_selector("[data-position='1'] video.shown")
    assert page.evaluate("document.querySelector('video').muted && document.querySelector('video').loop")
    page.locator("[data-position='2'] .poster").hover()
    page.wait_for_selector("[data-position='2'] video.shown")
    assert page.locator("video").count() == 1
    page.mouse.move(640, 5)
    page.wait_for_function("() => !document.querySelector('video')")


def test_reduced_motion_plays_only_when_asked(open_report: OpenReport) -> None:
    page = open_report("view=gallery")
    page.emulate_media(reduced_motion="reduce")
    page.locator("[data-position='1'] .poster").hover()
    page.wait_for_timeout(400)
    assert page.locator("video").count() == 0
    page.focus("[data-position='1']")
    page.keyboard.press(" ")
    page.wait_for_selector("[data-position='1'] video.shown")
    page.keyboard.press(" ")
    page.wait_for_function("() => !document.querySelector('video')")
    page.locator("[data-position='1'] .play").click()
    page.wait_for_selector("[data-position='1'] video.shown")


def test_many_videos_share_a_pool(open_report: OpenReport) -> None:
    page = open_report("view=gallery")
    count = page.evaluate(
        """() => {
          const tiles = Array.from({ length: 30 }, () => vm.tile(0, vm.state, 0));
          const playing = () => tiles.filter(tile => tile.querySelector("video[src]")).length;
          tiles.forEach(tile => vm.toggleTile(tile, 0));
          const most = playing();
          tiles.forEach(tile => vm.stopTiles(tile));
          return [most, playing()];
        }"""
    )
    assert count == [24, 0]


def test_a_failed_clip_shows_its_reason_in_place_of_the_poster(open_report: OpenReport) -> None:
    page = open_report("view=gallery&where=has+error")
    assert page.locator(".tile").count() == 2
    assert "The file is empty" in page.inner_text("[data-position='0'] .poster")
    assert page.locator("[data-position='0'] .poster img").count() == 0
    assert page.inner_text("[data-position='0'] .bar:last-child").endswith("–")


def test_the_table_sorts_by_its_headers(open_report: OpenReport) -> None:
    page = open_report("view=gallery&table=1")
    page.click("[role=columnheader]:has-text('TCS') button")
    assert page.evaluate("[vm.state.sort, vm.state.desc]") == ["tcs", False]
    page.click("[role=columnheader]:has-text('TCS') button")
    page.wait_for_selector("[role=columnheader][aria-sort=descending]:has-text('TCS')")
    column = page.evaluate(
        "[...document.querySelectorAll('[role=columnheader]')].findIndex(h => h.textContent.startsWith('TCS'))"
    )
    cells = page.evaluate(
        "column => [...document.querySelectorAll('.body .line')].map(line => line.children[column].textContent)", column
    )
    numbers = [float(cell) for cell in cells if cell != "–"]
    assert numbers == sorted(numbers, reverse=True)
    assert cells[len(numbers) :] == ["–"] * (24 - len(numbers))
    assert len(numbers) == 18
    page.click("text=Tiles")
    assert page.inner_text("[data-position='0'] .main") == f"TCS {numbers[0]:.3f}"


def test_the_filter_bar(open_report: OpenReport) -> None:
    page = open_report("view=gallery")
    assert page.inner_text(".count") == "24 clips"
    page.fill(".filters input[type=search] >> nth=0", "dog alpha")
    page.wait_for_function("() => vm.state.q === 'dog alpha'")
    assert page.inner_text(".count") == "2 of 24 clips"
    page.click("[aria-label='Remove “dog alpha”']")
    page.click("summary:has-text('Model')")
    page.check("label:has-text('first/beta') input")
    assert page.inner_text(".count") == "4 of 24 clips"
    assert page.inner_text("label:has-text('second/gamma') .n") == "4"  # counts under the other filters
    page.check("label:has-text('second/gamma') input")
    assert page.inner_text(".count") == "8 of 24 clips"
    page.fill("textarea", "tcs < 0.55 and")
    page.wait_for_selector("textarea[aria-invalid=true]")
    assert page.inner_text("#where-error").startswith("Character 15: ")
    assert page.inner_text(".count") == "8 of 24 clips"
    page.fill("textarea", "tcs < 0.55")
    page.wait_for_selector("textarea[aria-invalid=false]")
    assert page.inner_text("#where-error") == ""
    page.click("summary:has-text('Ranges')")
    page.fill("[aria-label='TCS, least']", "0.5")
    page.wait_for_function("() => vm.state.ranges.tcs")
    tcs = page.evaluate("[...vm.rows()].map(row => vm.data.scores('tcs')[row])")
    assert tcs
    assert all(0.5 <= score < 0.55 for score in tcs)
    assert page.locator(".chip").count() == 4
    page.click("text=Clear all")
    assert page.inner_text(".count") == "24 clips"
    assert page.input_value("textarea") == page.input_value("[aria-label='TCS, least']") == ""
    with page.expect_download() as download:
        page.click(".filters button:has-text('CSV')")
    assert Path(download.value.path()).read_text("utf-8") == page.evaluate("vm.csv()")
    assert download.value.suggested_filename == "clips.csv"


def test_a_link_reproduces_the_filter(open_report: OpenReport) -> None:
    page = open_report(
        "view=gallery&q=dog&f.model=second%2Fbeta&f.model=first%2Fbeta&f.model=second%2Falpha&r.cas=0.35~&sort=cas&desc=1"
    )
    expected = page.evaluate("[...vm.rows()].map(row => vm.data.id(row))")
    assert expected == [
        "second/beta/0-a-dog-runs.webm",
        "first/beta/0-a-dog-runs.webm",
        "second/alpha/0-a-dog-runs.mp4",
    ]
    assert page.evaluate("[...document.querySelectorAll('.tile .name')].map(link => link.title)") == [
        name.split("/", 1)[1] for name in expected
    ]
    assert all("q=dog" in link for link in page.evaluate("[...document.querySelectorAll('nav a')].map(a => a.href)"))


def test_hostile_texts_in_the_tiles(open_report: OpenReport) -> None:
    page = open_report("view=gallery&where=prompt+contains+%22onerror%22")
    assert page.locator(".tile").count() == 2
    assert page.text_content(".tile .prompt") == HOSTILE
    assert HOSTILE not in PROMPTS
    assert page.locator(".tile .prompt *").count() == 0


@pytest.mark.parametrize(
    ("link", "heading"),
    [
        ("view=nothing", "There is no view “nothing”"),
        ("view=gallery&q=zzzz", ""),
        ("view=clip&clip=first%2Fgone.mp4", "clip"),
    ],
)
def test_a_link_that_leads_nowhere_says_so(link: str, heading: str, open_report: OpenReport) -> None:
    page = open_report(link)
    text = page.inner_text("main")
    assert heading in text
    assert "No clip passes" in text or page.locator("main [role=alert] a").count() == 1
    if heading:
        page.click("main [role=alert] a")
        page.wait_for_function("() => document.querySelector('main').dataset.view !== ''")


def test_a_report_without_its_data_says_what_to_do(browser: Any, report: Path, tmp_path: Path) -> None:
    for missing, words in (
        ("data/index.js", "is missing beside"),
        ("app/report.js", "files of the report are missing"),
    ):
        folder = tmp_path / Path(missing).stem
        shutil.copytree(report, folder)
        (folder / missing).unlink()
        page = browser.new_page()
        page.goto((folder / "index.html").as_uri())
        page.wait_for_selector(f"main :text('{words}')", state="visible")
        page.close()


def test_notes_on_runs_that_are_not_comparable_and_on_clips_left_out(
    open_report: OpenReport, report: Path, tmp_path: Path
) -> None:
    index = made_index([MadeRow("1.mp4", "one"), MadeRow("2.mp4", "two")])
    index["runs"][1]["group"] = 1
    index["provenance"] |= {"total": 1200, "left_out": [{"reason": "not among the worst 2", "clips": 1198}]}
    page = open_report(folder=with_index(report, tmp_path / "report", index))
    listed, comparable = page.locator(".note").all_inner_texts()
    assert listed.startswith("2 of 1,200 clips are listed (left out: 1,198: not among the worst 2)")
    assert "[one] [two]" in comparable
    assert open_report().locator(".note.about-runs").count() == 0


def test_the_theme_follows_the_system_or_the_reader(open_report: OpenReport) -> None:
    page = open_report("view=gallery", dark=True)
    assert page.get_attribute("html", "data-theme") == "dark"
    page.select_option(".theme select", "light")
    assert page.get_attribute("html", "data-theme") == "light"
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.get_attribute("html", "data-theme") == "light"
    page.select_option(".theme select", "system")
    page.emulate_media(color_scheme="light")
    page.wait_for_selector("html[data-theme=light]")


def test_a_change_of_view_moves_the_focus_to_its_heading(open_report: OpenReport) -> None:
    page = open_report("view=nothing")
    page.click("main a")
    page.wait_for_function("() => document.querySelector('main').contains(document.activeElement)")
    assert page.evaluate("document.activeElement.tagName") == "H2"
