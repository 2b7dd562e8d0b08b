"""The page of a card: it opens from the disk, texts stay text, clips play in step, another card stands beside."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.viewer.conftest import OpenReport
from tests.viewer.test_accessible import MOUSE_ONLY, NAMES
from tests.viewer.test_study import ATTACK, Page
from vmmetrics.video.encoding import to_ticks, write_playable
from vmmetrics.viewer.card import write_card_page

FRAMES, FPS = 12, 8
SHAPES = [(width, scheme) for width in (1200, 360) for scheme in ("light", "dark")]


def line(part: str, check: str, grade: str, verdict: str, **more: Any) -> dict[str, Any]:
    """Return a line of a card, without clips unless ``looks`` says."""
    effect = {"effect": -0.03, "low": -0.05, "high": -0.01, "clips": 12, "expected": "lower"}
    texts = {"title": f"Two frames a second: {check}", "text": f"The score falls by 0.03 when {check} is put in."}
    named = {"part": part, "check": check, "grade": grade, "verdict": verdict}
    return {**named, **texts, **effect, "looks": [], "repeat": f"vmmetrics audit my:score --checks {check}", **more}


def score(name: str, lines: list[dict[str, Any]], noise: float | None = 0.01) -> dict[str, Any]:
    return {"name": name, "higher_is_better": True, "range": [0, 1], "noise": noise, "scale": 0.4, "lines": lines}


def sample_card(text: str = "my:score") -> dict[str, Any]:
    """Return a card of two scores, one of them with lines of every part and grade."""
    look = {
        "file": "clips/blur #1%.mp4", "label": "blur at 1", "score": 0.31, "beside": "clips/as it was.mp4",
        "beside_label": "as it was", "beside_score": 0.52,
    }  # fmt: skip
    alone = {**look, "label": "alone", "beside": None, "beside_label": None, "beside_score": None}
    lines = [
        line("sees", "blur", "good", "noticed from 0.5", looks=[look, alone]),
        line("sees", "freeze", "bad", "not noticed", effect=0.002, low=-0.004, high=0.008),
        line("ignores", "brightness", "open", "not told apart", effect=-0.008, low=-0.02, high=0.004),
        line("fooled", "still", "bad", "higher for stills", effect=0.41, low=0.32, high=0.5, expected=None),
        line("breaks", "environments", "error", "did not end", effect=None, low=None, high=None, clips=None),
        line("people", "pairs", "note", "ρ 0.31 within models", effect=0.31, low=None, high=None),
    ]
    clip = {"name": "a dog", "file": "clips/as it was.mp4", "frames": FRAMES, "fps": FPS, "width": 64, "height": 48}
    return {
        "format": 1,
        "target": {"kind": "function", "text": text, "takes": ["path"], "notes": ["fps is passed"]},
        "produced_by": {"vmmetrics": "2.0"},
        "settings": {"seed": 0, "clips": ["shipped"], "limits": {"memory": 1 << 30}},
        "seconds": 12.3, "clips": [{**clip, "source": "shipped"}],
        "scores": [score("score", lines), score("second", [line("sees", "noise", "good", "noticed")], noise=None)],
        "not_tried": [{"part": "breaks", "check": "gpu", "why": "there is none"}],
    }  # fmt: skip


UNFOLD = "document.querySelectorAll('details.fold').forEach(details => { details.open = true; })"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a card with its two clips."""
    folder = tmp_path_factory.mktemp("card")
    (folder / "clips").mkdir()
    ticks = to_ticks(np.arange(FRAMES) / FPS)
    for shade, name in enumerate(("as it was.mp4", "blur #1%.mp4")):
        frames = np.full((FRAMES, 48, 64, 3), 90 + 60 * shade, np.uint8)
        frames += np.arange(FRAMES, dtype=np.uint8)[:, None, None, None] * 4
        write_playable(folder / "clips" / name, frames, ticks, FPS, "")
    write_card_page(sample_card(), folder)
    return folder


def written(card: dict[str, Any], folder: Path, other: dict[str, Any] | None = None) -> Page:
    return Page(write_card_page(card, folder, other).read_text("utf-8"))


def test_the_page_is_whole_and_counts_the_grades(tmp_path: Path) -> None:
    page = written(sample_card(), tmp_path)
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    anchors = [reference[1:] for reference in page.references() if reference.startswith("#")]
    assert anchors and set(anchors) <= set(ids)
    grid = [" ".join(row[1:]).split() for row in page.tables[0][1:]]
    assert grid == [  # bad, error, open, note, good
        ["1", "0", "0", "0", "1"],  # sees
        ["0", "0", "1", "0", "0"],  # ignores
        ["1", "0", "0", "0", "0"],  # fooled
        ["0", "1", "0", "0", "0"],  # breaks
        ["0", "0", "0", "1", "0"],  # people
    ]
    said = "".join(page.said)
    assert all(text in said for text in ("there is none", "limits: memory", "1024 MiB", "12 clips", "expected: lower"))
    assert "shipped" not in said.rpartition("How this card was made")[2].partition("1 clip")[0]  # listed below it
    assert said.index("Against it, unless a score of its kind is meant so (2)") < said.index(
        "Two frames a second: blur"
    )
    assert "Wrong in any score" not in said


def test_effects_are_in_multiples_of_the_noise(tmp_path: Path) -> None:
    text = write_card_page(sample_card(), tmp_path).read_text("utf-8")
    assert "−3 × noise [−5, −1]" in text  # -0.03, -0.05 and -0.01 of a noise of 0.01
    assert "−0.03 [−0.05, −0.01]" in text  # of the score whose noise is not known
    # By hand: asinh(1) / asinh(5) of 76 to the left of 80 is 51.0, and -5 is the end of that part's bars.
    assert 'class="interval" d="M4.0 8H51.0"' in text
    assert "+0.31</span>" in text and "31 × noise" not in text  # agreement with people is not a change of the score


def test_hostile_texts_stay_text(tmp_path: Path) -> None:
    card = sample_card(ATTACK)
    card["target"].update(takes=[ATTACK], notes=[ATTACK])
    card["settings"] = {ATTACK: {ATTACK: ATTACK}}
    card["not_tried"][0].update(check=ATTACK, why=ATTACK)
    card["clips"][0].update(name=ATTACK, source=ATTACK)
    card["scores"][0]["name"] = ATTACK
    look = dict.fromkeys(("file", "beside", "label", "beside_label"), f"<!--script-->{ATTACK}") | {"score": 1.0}
    for row in card["scores"][0]["lines"]:
        row.update(title=ATTACK, verdict=ATTACK, text=ATTACK, repeat=ATTACK, expected=ATTACK)
        row["looks"] = [look | {"beside_score": None}]
    page = written(card, tmp_path, sample_card(ATTACK))
    assert page.open == []
    tags = [tag for tag, _ in page.tags]
    assert not {"img", "iframe", "base", "form"} & set(tags)
    assert [attributes.get("type") for tag, attributes in page.tags if tag == "script"] == ["application/json", None]
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.tags for name in attributes)
    assert all(re.match(r"#|data:,$|%3C", reference) for reference in page.references())


@pytest.mark.parametrize("file", ["/etc/passwd", "../up.mp4", "//host/a.mp4", "clips/../../a.mp4"])
def test_clips_outside_of_the_folder_are_not_asked_for(tmp_path: Path, file: str) -> None:
    card = sample_card()
    card["scores"][0]["lines"][0]["looks"][0]["file"] = file
    page = written(card, tmp_path)
    assert not any("passwd" in to or "a.mp4" in to or "up.mp4" in to for to in page.references())
    assert "leads out of the card" in "".join(page.said)


def test_an_address_for_a_file_is_a_file(tmp_path: Path) -> None:
    card = sample_card()
    for row, file in enumerate(("javascript:alert(1)", "http://evil/a.mp4")):
        card["scores"][0]["lines"][0]["looks"][row]["file"] = file
    assert {"javascript%3Aalert%281%29", "http%3A/evil/a.mp4"} <= set(written(card, tmp_path).references())


def changed_card() -> dict[str, Any]:
    """Return an earlier card: of one line another grade, one line that is no more, and one that was not there."""
    other = copy.deepcopy(sample_card("my:old"))
    lines = other["scores"][0]["lines"]
    lines[1].update(grade="good", verdict="noticed from 0.25")
    lines[2]["check"] = lines[2]["title"] = "contrast"
    return other


def test_a_card_beside_marks_what_changed(tmp_path: Path) -> None:
    text = write_card_page(sample_card(), tmp_path, changed_card()).read_text("utf-8")
    page = Page(text)
    said = "".join(page.said)
    assert "Compared with the card of my:old" in said and "Changed since the other card (1)" in said
    assert re.search(r"Only in the other card</h3><ul><li>contrast: [^<]*</li></ul>", text)
    (first, _), (second, _) = (page.tables[n][1:] for n in (1, 2))  # each row with the one that unfolds; the good ones
    assert "not noticed" in first[1] and "noticed from 0.25" in first[2]
    assert "noticed from 0.5" in second[1] and "noticed from 0.5" in second[2]
    assert re.search(r'<tbody id="s0-l1" class=changed>', text)
    assert text.count('class="badge"') == 1


def test_two_scorers_of_one_score_are_compared_whatever_its_name(tmp_path: Path) -> None:
    card, other = sample_card(), changed_card()
    del card["scores"][1:], other["scores"][1:]
    other["scores"][0]["name"] = "another name"
    assert "Changed since the other card (1)" in "".join(written(card, tmp_path, other).said)


@pytest.mark.browser
def test_scores_are_chosen_and_followed(open_report: OpenReport, folder: Path) -> None:
    page = open_report(folder=folder)
    shown = "[...document.querySelectorAll('section.score')].filter(node => node.checkVisibility()).map(n => n.id)"
    assert page.evaluate(shown) == ["s0"]
    assert page.locator(".choose option").all_text_contents() == ["score (2 failures)", "second (0 failures)"]
    page.locator(".choose select").select_option("s1")
    assert page.evaluate(shown) == ["s1"]
    page.evaluate("location.hash = '#s0-l3'")
    page.wait_for_function(f"() => {shown}.join() === 's0'")
    page = open_report("#s0-l2", folder=folder)  # an open line, which unfolds
    assert page.locator("#s0-l2").is_visible()
    page = open_report("#s1-l0", folder=folder)  # a good one
    assert page.evaluate(shown) == ["s1"] and page.locator("#s1-l0").is_visible()


@pytest.mark.browser
def test_a_line_unfolds_to_clips_in_step(open_report: OpenReport, folder: Path) -> None:
    page = open_report(folder=folder)
    assert not page.locator("#s0-l0").is_visible() and not page.locator("#s0-l2").is_visible()  # good, open
    page.locator("details.fold > summary").first.click()
    details = page.locator("#s0-l0 details")
    page.locator("#s0-l0 summary").focus()
    page.keyboard.press("Enter")
    details.locator("video").nth(2).wait_for(state="attached")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#s0-l0 .player-stage')].every(s => s.matches('.ready'))"
    )
    ready = page.evaluate("[...document.querySelectorAll('#s0-l0 video')].map(v => [v.videoWidth, v.error])")
    assert ready == [[64, None]] * 3
    look = details.locator(".look").first
    assert look.locator("[type=range]").get_attribute("max") == str(FRAMES - 1)
    both = """frame => [...document.querySelectorAll("#s0-l0 .look:first-of-type canvas")]
      .every(canvas => canvas.getAttribute("aria-label").startsWith(`Frame ${frame} of `))"""
    for frame in (1, 2):
        look.locator("[aria-label^='One frame on']").click()
        page.wait_for_function(both, arg=frame)
    look.locator("[type=range]").focus()
    page.keyboard.press(".")
    page.wait_for_function(both, arg=3)
    times = page.evaluate("[...document.querySelectorAll('#s0-l0 video')].map(v => Math.floor(v.currentTime * 8))")
    assert times[:2] == [3, 3]
    page.locator("#s0-l0 summary").click()
    page.wait_for_function("() => document.querySelectorAll('#s0-l0 video').length === 0")


@pytest.mark.browser
def test_a_clip_that_is_gone_says_so_and_its_command_is_copied(open_report: OpenReport, tmp_path: Path) -> None:
    write_card_page(sample_card(), tmp_path)
    page = open_report(folder=tmp_path)
    page.evaluate(UNFOLD)
    page.locator("#s0-l0 summary").click()
    page.locator("#s0-l0 .player-notes .note").first.wait_for()
    assert "This clip cannot be played" in page.locator("#s0-l0 .player-notes .note").first.inner_text()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#s0-l0 .repeat button").click()
    page.wait_for_function("() => /Copied/.test(document.querySelector('#s0-l0 .repeat').textContent)")


@pytest.mark.browser
def test_hostile_texts_run_nothing(open_report: OpenReport, tmp_path: Path) -> None:
    card = sample_card(ATTACK)
    for part in card["scores"]:
        part["name"] = part["lines"][0]["title"] = part["lines"][0]["repeat"] = ATTACK
    page = open_report(folder=write_card_page(card, tmp_path).parent)
    assert page.locator("h1").inner_text() == f"Audit of {ATTACK}"
    assert page.locator(".choose option").first.inner_text().startswith(ATTACK)
    assert page.locator("#s0-l0 .repeat code").text_content() == ATTACK


@pytest.mark.browser
def test_axe_finds_nothing_serious_and_nothing_is_wider_than_the_screen(
    open_report: OpenReport, npm: Path, folder: Path
) -> None:
    write_card_page(sample_card(), folder, changed_card())
    page, serious = open_report(folder=folder), []
    page.evaluate((npm / "axe-core" / "axe.min.js").read_text("utf-8"))
    page.evaluate(NAMES)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
    page.locator("#s0-l0 .player-stage.ready").first.wait_for()
    assert page.evaluate(MOUSE_ONLY) == []
    for width, scheme in SHAPES:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        results = page.evaluate("axe.run(document, { resultTypes: ['violations'], preload: false })")
        for violation in results["violations"]:
            if violation["impact"] in ("serious", "critical"):
                nodes = [f"{node['target']}: {node['failureSummary']}" for node in violation["nodes"][:3]]
                serious.append(f"{width} {scheme}: {violation['id']}: {nodes}")
    assert not serious, "\n".join(serious)
