"""The review on a real pseudo-terminal: keys, lines, resizing, and being killed."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vmmetrics.prompts.entry import PromptEntry, Tags
from vmmetrics.prompts.files import write_entries

pytest.importorskip("pty")
_spec = importlib.util.spec_from_file_location("driver", Path(__file__).with_name("review_terminal_driver.py"))
assert _spec and _spec.loader
driver = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(driver)

READY = r"q quit"
Start = Callable[..., Any]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a review of six prompts, seeded so that every test sees one order."""
    opened = []
    nouns = ("horse", "kettle", "flag", "wheel", "river", "crane")
    listed = [
        PromptEntry(
            f"{n:04d}",
            f"A {noun} moves here.",
            f"a {noun}",
            noun,
            "yard",
            "moving",
            outcome=f"the {noun} is elsewhere",
            tags=Tags(),
        )
        for n, noun in enumerate(nouns, start=1)
    ]
    write_entries(tmp_path / "list.json", listed)

    def begin(*more: object, wait: bool = True, **options: Any) -> Any:
        arguments = ("prompts", "review", tmp_path / "list.json", "--reviewer", "anna")
        terminal = driver.Terminal(*arguments, "--decisions", tmp_path / "d.jsonl", *more, **options)
        opened.append(terminal)
        if wait:
            terminal.first = terminal.until(READY)
        return terminal

    yield begin
    for terminal in opened:
        terminal.close()


def decided(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "d.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def kinds(tmp_path: Path) -> list[str]:
    return [line["decision"] for line in decided(tmp_path)]


def test_single_keys_decide_and_quit_leaves_the_terminal_as_it_was(start: Start, tmp_path: Path) -> None:
    terminal = start(wait=False)
    before = terminal.modes()
    terminal.until(READY)
    assert not terminal.modes() & (termios.ICANON | termios.ECHO)
    terminal.press("k", r"1/6 anna.*q quit")
    terminal.press("d", r"why\?.*9 unsafe")
    terminal.press("4", r"2/6 anna.*q quit")
    terminal.press("s", r"1 skipped.*q quit")
    shown = terminal.press("u", r"undone: skipped.*q quit")
    assert "2/6 anna" in driver.plain(shown)
    terminal.press("\x7f", r"undone: drop: still.*q quit")
    terminal.keys("q")
    assert terminal.finish() == 0
    assert "1 of 6 decided: 1 kept" in terminal.seen
    assert terminal.modes() == before
    assert kinds(tmp_path) == ["keep", "drop", "skip", "undo", "undo"]
    assert decided(tmp_path)[1]["reason"] == "still" and decided(tmp_path)[0]["seconds"] > 0


def test_editing_in_line_begins_with_the_text_that_is_there(start: Start, tmp_path: Path) -> None:
    terminal = start()
    shown = re.search(r"A (\w+) moves here\.", driver.plain(terminal.first))
    assert shown
    terminal.press("e", r"new text: A \w+ moves here\.")
    terminal.keys("\x7f" * len("here.") + "fast.\r")
    asked = driver.plain(terminal.until(r"any other key leaves"))
    assert f"A {shown[1]} moves fast." in asked and "warning: 4 words, expected 12 to 35" in asked
    terminal.press("y", r"1/6 anna.*1 edited.*q quit")
    (line,) = decided(tmp_path)
    assert line["decision"] == "edit" and line["edited"] == f"A {shown[1]} moves fast."


def test_an_edit_that_is_emptied_or_broken_off_leaves_the_prompt(start: Start, tmp_path: Path) -> None:
    terminal = start()
    for ending in ("\x15\r", "\x03"):
        terminal.press("e", r"new text: A \w+ moves here\.")
        terminal.press(" More", r"More")
        terminal.rest()  # Python's readline misses a Ctrl-C that comes while it still works on a letter
        terminal.press(ending, r"unchanged.*q quit")
    terminal.press("d", r"9 unsafe")
    terminal.press("\x1b", r"not dropped.*q quit")
    assert kinds(tmp_path) == []


def test_a_new_text_with_faults_is_asked_about_once_and_one_without_never(start: Start, tmp_path: Path) -> None:
    terminal = start()
    shown = re.search(r"A (\w+) moves here\.", driver.plain(terminal.first))
    assert shown and f"the {shown[1]} is elsewhere" in driver.plain(terminal.first)
    good = f"A {shown[1]} moves slowly across the yard and comes to rest beside the old gate."
    terminal.press("e", r"new text: A \w+ moves here\.")
    terminal.press(
        "\x15" + good[:-1].replace("rest", "rest \u2014") + "\r", r"not plain text.*full stop|full stop.*not plain text"
    )
    terminal.press("n", r"0/6 anna.*unchanged.*q quit")
    terminal.press("e", r"new text: A \w+ moves here\.")
    terminal.press("\x15" + good[:-1] + "\r", r"warning: it does not end with a full stop.*any other key leaves")
    terminal.press("e", r"new text: A \w+ moves slowly")
    terminal.press(".\r", r"1/6 anna.*1 edited.*q quit")
    (line,) = decided(tmp_path)
    assert line["edited"] == good


def test_a_field_is_corrected_and_taken_back(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.press("f", r"field \(")
    terminal.press("speed\r", r"tags\.speed: moderate")
    terminal.press("\x15quick\r", r"Expected speed to be one of slow, moderate, fast but got 'quick'.*q quit")
    terminal.press("f", r"field \(")
    terminal.press("speed\r", r"tags\.speed: moderate")
    shown = driver.plain(terminal.press("\x15fast\r", r"0/6 anna.*set tags\.speed: fast.*q quit"))
    assert "· fast ·" in shown and "tags.speed was moderate" in shown
    terminal.press("f", r"field \(")
    terminal.press("subject_noun\r", r"subject_noun: \w+")
    terminal.press("\x15zebra\r", r"warning: the subject is not named: 'zebra'.*q quit")
    shown = driver.plain(terminal.press("u", r"undone: set subject_noun: zebra.*q quit"))
    assert "zebra" not in shown.replace("subject_noun: zebra", "")
    for nothing in ("\r", "sped\r"):
        terminal.press("f", r"field \(")
        terminal.press(nothing, r"(nothing corrected|expected a field).*q quit")
    assert kinds(tmp_path) == ["set", "set", "undo"]


def test_a_reason_in_words_of_ones_own_with_letters_beyond_ascii(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.press("d", r"o other words")
    terminal.press("o", r"reason: ")
    terminal.press("größe stimmt nicht\r", r"1 dropped.*q quit")
    assert decided(tmp_path)[0]["reason"] == "größe stimmt nicht"


def test_search_jump_and_help(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.press("/", "find: ")
    terminal.press("CRANE\r", r"A crane moves here.*1 found")
    terminal.press("g", "go to index: ")
    terminal.press("2\r", r"A kettle moves here.*q quit")
    terminal.press("?", r"Reasons to drop.*any key goes back")
    terminal.press("x", r"A kettle moves here.*q quit")
    terminal.press("k", r"1/6 anna.*q quit")
    terminal.press("z", r"\? shows what the keys do")
    assert decided(tmp_path)[0]["index"] == "0002"


def test_arrow_and_function_keys_do_nothing(start: Start, tmp_path: Path) -> None:
    """An arrow up is ESC [ A: its letters must not be taken for commands."""
    terminal = start()
    for key in ("\x1b[A", "\x1b[D", "\x1bOk", "\x1b[15~", "\x1b[1;5d", "é", "漢"):
        terminal.press(key, r"\? shows what the keys do")
    assert kinds(tmp_path) == []


def test_keys_typed_ahead_are_not_lost(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.keys("kkd1")
    terminal.until(r"3/6 anna.*q quit")
    assert kinds(tmp_path) == ["keep", "keep", "drop"]


def test_resume_after_kill_in_the_middle_of_the_work(start: Start, tmp_path: Path) -> None:
    first = start()
    first.press("k", r"1/6 anna.*q quit")
    seen = re.findall(r"A (\w+) moves", driver.plain(first.press("k", r"2/6 anna.*q quit")))
    first.kill()
    again = start()
    shown = driver.plain(again.first)
    assert "2/6 anna" in shown and f"A {seen[-1]} moves" in shown
    again.press("u", r"undone: keep.*q quit")
    again.keys("\x04")
    assert again.finish() == 0


def test_the_end_is_told_and_can_be_taken_back(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.keys("kkkkkk")
    terminal.until(r"6/6 anna.*Every entry of the list is decided")
    terminal.press("k", r"6/6 anna.*q quit")
    terminal.press("u", r"5/6 anna.*q quit")
    assert kinds(tmp_path) == ["keep"] * 6 + ["undo"]


def test_resizing_draws_anew_to_the_new_width(start: Start) -> None:
    terminal = start(size=(40, 100))
    terminal.resize(20, 34)
    shown = driver.plain(terminal.until(r"q\s+quit"))
    assert max(len(line.rstrip("\r")) for line in shown.split("\n")) <= 34
    terminal.resize(40, 8)
    terminal.until(r"move.*quit")  # even where nothing fits: words are folded, nothing fails


def test_going_on_after_ctrl_z_draws_anew_and_reads_single_keys(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.process.send_signal(signal.SIGCONT)  # what the shell sends for "fg"
    terminal.until(READY)
    terminal.press("k", r"1/6 anna.*q quit")


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"NO_COLOR": "1"}, {"TERM": "vt100"}])
def test_terminals_without_colour_get_none(start: Start, environment: dict[str, str]) -> None:
    terminal = start(**environment)
    shown = terminal.first + terminal.press("k", r"1/6 anna.*q quit")
    colours = [part for codes in re.findall(r"\x1b\[([0-9;]*)m", shown) for part in codes.split(";")]
    assert not [code for code in colours if code[:1] in ("3", "4") and len(code) == 2]
    assert environment.get("TERM") != "dumb" or "\x1b" not in shown


def test_hostile_text_steers_nothing(start: Start, tmp_path: Path) -> None:
    evil = "A dog\x1b]0;owned\x07\x1b[?1049h runs\r\n\x9b31m."
    write_entries(tmp_path / "list.json", [PromptEntry("1\x1b[6n", evil, evil, evil, evil, evil, pattern="")])
    terminal = start()
    assert "\x1b]" not in terminal.first and "1049h" in terminal.first and "\x1b[?1049h" not in terminal.first
    shown = terminal.press("e", r"new text: A dog")
    assert "\x1b]0" not in shown and "\x07" not in shown
    asked = terminal.press("\r", r"warning: .*any other key leaves")
    assert "\x1b]" not in asked and "\x1b[?1049h" not in asked
    terminal.press("y", r"1/1 anna")
    assert decided(tmp_path)[0]["edited"].isprintable()


def test_ctrl_c_leaves_with_what_was_decided(start: Start, tmp_path: Path) -> None:
    terminal = start()
    before_modes = terminal.modes()
    terminal.press("k", r"1/6 anna.*q quit")
    terminal.keys("\x03")
    assert terminal.finish() == 130
    assert terminal.modes() & termios.ICANON and not before_modes & termios.ICANON
    assert kinds(tmp_path) == ["keep"]


def test_a_terminal_that_goes_away_ends_the_review(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.press("k", r"1/6 anna.*q quit")
    terminal.hang_up()
    terminal.process.wait(60)
    assert kinds(tmp_path) == ["keep"]
