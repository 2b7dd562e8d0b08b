"""Comparing two models or runs: pairs, differences, order, both clips on one transport, and the wipe line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.conftest import OpenReport
from tests.viewer.made_run import PROMPTS, MadeClip, number_in, write_run
from vmmetrics.viewer.report import write_report

pytestmark = pytest.mark.browser
SIDES = "view=compare&a=0%2Ffirst%2Falpha&b=0%2Ffirst%2Fbeta"
PAIR = f"{SIDES}&metric=mss&clip=first%2Falpha%2F0-a-dog-runs.mp4"


def listed(page: Any) -> list[tuple[str, str, str, str]]:
    """Return the pairs of the list: prompt, scores of A and B, difference or reason."""
    rows = page.evaluate(
        """() => [...document.querySelectorAll("table.compare-pairs tbody tr")].map(row =>
          [row.querySelector(".prompt"), ...[...row.cells].slice(1)].map(cell => cell.innerText.trim()))"""
    )
    return [tuple(row) for row in rows]


def settled(page: Any) -> None:
    """Wait until both pictures are those of their frames."""
    page.wait_for_function(
        "() => [...document.querySelectorAll('.player-stage')].every(stage => stage.classList.contains('ready'))"
    )
    page.evaluate("new Promise(done => setTimeout(() => requestAnimationFrame(done), 100))")


def frames_of(page: Any) -> tuple[int, int]:
    """Return the frames that the pictures of A and B show, read from their pixels."""
    a, b = (stage.screenshot() for stage in page.locator(".player-stage").all())
    return number_in(a), number_in(b)


def test_pairs_and_differences_are_those_by_hand(open_report: OpenReport) -> None:
    page = open_report(f"{SIDES}&metric=mss")
    # alpha scores 0.30, 0.35, 0.40, 0.45 and beta 0.1 more, but its last clip failed
    assert listed(page) == [
        (PROMPTS[0], "0.300", "0.400", "+0.100"),
        (PROMPTS[1], "0.350", "0.450", "+0.100"),
        (PROMPTS[2], "0.400", "0.500", "+0.100"),
        (PROMPTS[3], "0.450", "–", "B missing: The file is empty"),
    ]
    page = open_report(f"{SIDES}&metric=tcs")
    assert listed(page)[2:] == [
        (PROMPTS[0], "–", "0.400", "A missing: no object moved"),
        (PROMPTS[3], "0.450", "–", "B missing: The file is empty"),
    ]


def seeds_report(folder: Path) -> Path:
    """Return a report of two models with one, two or no clips of a prompt."""
    scores = {"a/1.mp4": 0.5, "a/2.mp4": 0.9, "a/10.mp4": 0.6, "a/x.mp4": 0.2, "b/1.mp4": 0.1, "b/2.mp4": 0.95}
    scores |= {"b/3.mp4": 0.3, "b/y.mp4": 0.2}
    prompts = {"a/x.mp4": "only a", "b/y.mp4": "only b", "b/1.mp4": " a  dog", "a/10.mp4": "a cat", "b/3.mp4": "a cat"}
    clips = [MadeClip(name, name[0], prompts.get(name, "a dog"), {"mss": score}) for name, score in scores.items()]
    return write_report([write_run(folder / "run", clips)], folder / "out").path.parent


@pytest.mark.parametrize("order", ["", "gains"])
def test_several_clips_of_a_prompt_are_paired_in_order_of_name(
    open_report: OpenReport, tmp_path: Path, order: str
) -> None:
    page = open_report(f"view=compare&a=0%2Fa&b=0%2Fb&metric=mss&order={order}", folder=seeds_report(tmp_path))
    pairs = [
        ("a dog", "0.500", "0.100", "−0.400"),
        ("a cat", "0.600", "0.300", "−0.300"),
        ("a dog", "0.900", "0.950", "+0.050"),
    ]
    assert listed(page) == [
        *(reversed(pairs) if order else pairs),
        ("only a", "0.200", "–", "B has no clip"),
        ("only b", "–", "0.200", "A has no clip"),
    ]
    assert "3 pairs, 2 clips of one side alone" in page.locator(".pair-tools").inner_text()
    # a prompt counts by its clips: the mean of -0.4, -0.3 and 0.05, with the report's test and without it
    assert "−0.217, paired test" in page.locator(".verdict").inner_text()
    page.evaluate("vm.data.index.pairs = []; vm.go({ order: '', q: ' ' })")
    assert re.search(r"−0\.217, mean over 3 pairs, no test", page.locator(".verdict").inner_text())


def test_where_lower_is_better_a_larger_score_is_a_loss(open_report: OpenReport, tmp_path: Path) -> None:
    page = open_report("view=about", folder=seeds_report(tmp_path))
    page.evaluate("vm.data.metric('mss').lower_is_better = true; vm.go({ view: 'compare', metric: 'mss' })")
    assert [row[3] for row in listed(page)[:3]] == ["+0.050", "−0.300", "−0.400"]
    assert "lower is better" in page.locator(".verdict").inner_text()


def test_clips_without_prompts_are_paired_by_name(open_report: OpenReport, tmp_path: Path) -> None:
    names = ["a/deep/1.x.mp4", "a/2.mp4", "b/deep/1.x.gif", "b/2", "b/.mp4"]
    clips = [MadeClip(name, name[0], None, {"mss": 0.1 * (k + 1)}) for k, name in enumerate(names)]
    folder = write_report([write_run(tmp_path / "run", clips)], tmp_path / "out").path.parent
    page = open_report("view=compare&a=0%2Fa&b=0%2Fb&metric=mss", folder=folder)
    rows = listed(page)
    assert rows[:2] == [("2", "0.200", "0.400", "+0.200"), ("deep/1.x", "0.100", "0.300", "+0.200")]
    assert [(row[0], row[3]) for row in rows[2:]] == [(".mp4", "A has no clip")]


def test_runs_scored_otherwise_are_compared_with_a_warning(open_report: OpenReport, tmp_path: Path) -> None:
    runs = [
        write_run(tmp_path / name, [MadeClip("x/1.mp4", "x", "a dog", {"mss": score})], preset=name)
        for name, score in (("embedded", 0.5), ("vmbench", 0.75))
    ]
    page = open_report("view=compare", folder=write_report(runs, tmp_path / "out").path.parent)
    page.evaluate("vm.go({ metric: 'mss', a: '1/vmbench/x', b: '0/embedded/x' })")
    assert listed(page) == [("a dog", "0.750", "0.500", "−0.250")]
    assert "Not comparable" in page.locator(".compare-head .note").inner_text()


@pytest.mark.parametrize(
    ("sides", "sign"), [("a=0%2Ffirst%2Falpha&b=0%2Ffirst%2Fbeta", 1), ("a=0%2Ffirst%2Fbeta&b=0%2Ffirst%2Falpha", -1)]
)
def test_the_paired_test_is_that_of_the_report(open_report: OpenReport, sides: str, sign: int) -> None:
    page = open_report("view=compare")
    page.evaluate(
        """() => { vm.data.index.pairs = [{ a: "0/first/beta", b: "0/first/alpha", board: 0, metrics: {
             mss: { difference: 0.1, low: 0.075, high: 0.12, p: 0.25, p_holm: 0.5, prompts: 3 } } }]; }"""
    )
    page.evaluate("hash => { location.hash = hash; }", f"view=compare&{sides}&metric=mss")
    low, high = ("+0.075", "+0.120") if sign > 0 else ("−0.120", "−0.075")
    mean = "+0.100" if sign > 0 else "−0.100"
    text = f"{mean} [{low}, {high}], paired test p = 0.250 (0.500 after Holm's correction), 3 prompts"
    page.wait_for_function("text => document.querySelector('.verdict').innerText.includes(text)", arg=text)


def test_a_change_between_runs_is_after_less_before(open_report: OpenReport) -> None:
    page = open_report("view=compare")
    page.evaluate(
        """() => {
          const test = { difference: 0.1, low: 0.09, high: 0.11, p: 0.125, p_holm: null, prompts: 4 };
          const rows = [{ metric: "mss", model: null, difference: 1 }, { metric: "mss", model: "alpha", ...test }];
          vm.data.index.changes = [{ before: 0, after: 1, refused: null, rows }];
        }"""
    )
    page.evaluate("vm.go({ a: '0/first/alpha', b: '1/second/alpha', metric: 'mss' })")
    assert "+0.100 [+0.090, +0.110], paired test p = 0.125, 4 prompts" in page.locator(".verdict").inner_text()
    page.evaluate("vm.go({ a: '1/second/alpha', b: '0/first/alpha' })")
    assert "−0.100 [−0.110, −0.090]" in page.locator(".verdict").inner_text()
    page.evaluate("vm.data.index.changes[0].refused = 'the weights differ'; vm.go({ metric: 'cas' })")
    assert "the weights differ" in page.locator(".compare-head .note").inner_text()


def test_both_clips_stay_at_the_same_time(open_report: OpenReport) -> None:
    page = open_report(f"{PAIR}&layers=")
    settled(page)
    last_a, last_b = 11, 15  # B is longer, so that it leads, and A holds its last frame
    shown = 0
    for step in range(60):
        forwards = step < 20 or step >= 40
        page.keyboard.press("." if forwards else ",")
        shown = min(last_b, max(0, shown + (1 if forwards else -1)))
        page.wait_for_function("frame => document.querySelector('.transport input').value == frame", arg=str(shown))
        page.wait_for_function(
            "text => document.querySelector('.duet-side .at').textContent.startsWith(text)",
            arg=f"frame {min(shown, last_a)} of {last_a}",
        )
        if step % 6 == 0:
            page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            assert frames_of(page) == (min(shown, last_a), shown)


def test_clips_of_other_rates_are_within_half_a_frame(open_report: OpenReport) -> None:
    times = open_report("view=compare").evaluate(
        """async () => {
          const made = (frames, rate) => ({
            frames, frame: 0, root: document.createElement("div"), onFrame: () => () => {}, destroy() {},
            timeOf: frame => frame / rate,
            frameAt: seconds => Math.min(frames - 1, Math.max(0, Math.round(seconds * rate))),
            async seek(frame) { this.frame = frame; },
          });
          const [a, b] = [made(33, 16), made(16, 11)];
          const duet = new vm.Duet(a, b), times = [];
          for (let step = 0; step < 60; step++) {
            await duet.seek((step * 7) % 33);
            times.push([a.frame, a.timeOf(a.frame), b.timeOf(b.frame)]);
          }
          return times;
        }"""
    )
    assert {frame for frame, *_ in times} == set(range(33))
    end = 15 / 11  # of B, which holds its last frame from there on
    assert all(abs(min(a, end) - b) <= 0.5 / 11 + 1e-9 for _, a, b in times)


def test_playing_moves_both_and_ends_both(open_report: OpenReport) -> None:
    page = open_report(f"{PAIR}&layers=")
    settled(page)
    page.keyboard.press(" ")
    page.wait_for_function("() => document.querySelector('.transport input').value == 15")
    page.wait_for_function("() => [...document.querySelectorAll('video')].every(video => video.paused)")
    page.evaluate("new Promise(done => setTimeout(() => requestAnimationFrame(done), 200))")
    assert frames_of(page) == (11, 15)


def test_a_link_opens_the_frame_that_it_was_copied_at(open_report: OpenReport) -> None:
    page = open_report(f"{PAIR}&layers=")
    settled(page)
    for _ in range(5):
        page.keyboard.press(".")
    page.wait_for_function("() => location.hash.includes('frame=5')")
    page = open_report(page.evaluate("location.hash"))
    settled(page)
    page.wait_for_function("() => document.querySelector('.duet-side .at').textContent.startsWith('frame 5 ')")
    assert frames_of(page) == (5, 5)


def test_the_wipe_line_moves_by_keyboard_and_shows_both_in_one_box(open_report: OpenReport) -> None:
    page = open_report(f"{PAIR}&layers=")
    settled(page)
    page.get_by_role("button", name="Wipe").click()
    line = page.get_by_role("slider", name="Line between A and B")
    line.focus()
    for key, percent in (("ArrowLeft", 48), ("PageUp", 58), ("Home", 0), ("ArrowRight", 2), ("End", 100)):
        page.keyboard.press(key)
        assert line.get_attribute("aria-valuenow") == str(percent)
    assert "wipe=100" in page.evaluate("location.hash")
    a, b = (stage.bounding_box() for stage in page.locator(".player-stage").all())
    assert a == pytest.approx(b, abs=1)
    assert line.bounding_box()["x"] + 12 == pytest.approx(a["x"] + a["width"], abs=1.5)


def test_swapping_and_the_next_pair(open_report: OpenReport) -> None:
    page = open_report(PAIR)
    settled(page)
    page.get_by_role("button", name="Swap sides").click()
    page.wait_for_function(
        "() => vm.state.a === '0/first/beta' && document.querySelector('.pair-nav').textContent.includes('pair')"
    )
    assert page.locator(".pair-scores tbody tr", has_text="MSS").locator("td").all_inner_texts() == [
        "0.400",
        "0.300",
        "−0.100",
    ]
    before = page.locator(".pair-prompt").inner_text()
    page.keyboard.press("j")
    page.wait_for_function("before => document.querySelector('.pair-prompt').innerText !== before", arg=before)
    page.keyboard.press("k")
    page.wait_for_function("before => document.querySelector('.pair-prompt').innerText === before", arg=before)


def test_ten_thousand_pairs_are_listed_by_pages(open_report: OpenReport) -> None:
    page = open_report("view=about")
    page.evaluate(
        """() => {
          const { index } = vm.data, rows = [...Array(20000).keys()], of = value => rows.map(() => value);
          const clips = {
            name: rows.map(row => `${row % 2 ? "beta" : "alpha"}/${row >> 1}.mp4`), run: of(0),
            model: rows.map(row => row % 2), prompt: rows.map(row => row >> 1), frames: of(8), fps: of(8),
            failed: of(-1), events: of([]),
            media: of(-1), poster: of(0), overlay: of(0), missing: {}, tags: {},
            scores: { mss: rows.map(row => row % 2 ? (row >> 1) * 7919 % 10000 / 10000 : 0.5) },
          };
          const prompts = rows.slice(0, 10000).map(number => `prompt ${number}`);
          vmReport.index({ ...index, models: ["alpha", "beta"], tags: [], pairs: [], changes: [], clips, prompts });
          vm.go({ view: "compare", metric: "mss", a: "0/alpha", b: "0/beta" });
        }"""
    )
    losses = [("prompt 0", "0.500", "0.000", "−0.500")]  # 7919 k = d modulo 10,000 has one answer k for every d
    losses += [(f"prompt {pow(7919, -1, 10000) * d % 10000}", "0.500", f"{d / 1e4:.3f}", "") for d in range(1, 100)]
    assert [row[0] for row in listed(page)] == [row[0] for row in losses[:50]]
    assert listed(page)[0] == losses[0]
    assert "10,000 pairs" in page.locator(".pair-tools").inner_text()
    page.get_by_role("button", name="Next page").click()
    assert [row[0] for row in listed(page)] == [row[0] for row in losses[50:]]
    assert page.evaluate("vm.state.pair") == "1"
