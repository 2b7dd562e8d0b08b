"""Review by lines: what a script may say, what it is answered, and that no decision lands on another entry."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent))
from review_samples import ANNA, command, entries, lines

from vmmetrics.prompts.entry import PromptEntry, Tags
from vmmetrics.prompts.files import write_entries
from vmmetrics.prompts.review.decisions import DecisionFile
from vmmetrics.prompts.review.reviewing import Review
from vmmetrics.prompts.review.screen import LineReview

ROOT = Path(__file__).parents[3]


def test_lines_from_a_pipe_do_everything(tmp_path: Path) -> None:
    write_entries(tmp_path / "list.json", entries(8))
    script = (
        "keep\nn\ne  A wheel\tturns. \non\nd 3 too dark\nn\ns\nundo\n/ number 7\nk\ng 8\ndrop boring stuff\n"
        "set 7 speed fast\nundo\nset 8 outcome it is gone\n?\nq\nkeep\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "vmmetrics", "prompts", "review", "list.json", *ANNA],
        input=script, capture_output=True, text=True, cwd=tmp_path, timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = lines(tmp_path / "d.jsonl")
    assert [line["decision"] for line in told] == [
        "keep",
        "edit",
        "drop",
        "skip",
        "undo",
        "keep",
        "drop",
        "set",
        "undo",
        "set",
    ]
    assert told[1]["edited"] == "A wheel turns." and told[2]["reason"] == "unseen: too dark"
    assert told[5]["index"] == "0007" and told[6]["index"] == "0008" and told[6]["reason"] == "boring stuff"
    assert told[7]["field"] == "tags.speed" and told[9]["value"] == "it is gone"
    assert not any(line["seconds"] for line in told)
    assert "5 of 8 decided: 2 kept, 1 edited, 2 dropped, 1 with corrected fields" in done.stderr
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    "script, says",
    [("kepe\n", "line 1: kepe: expected one of keep [INDEX], edit [INDEX] TEXT, set [INDEX] FIELD VALUE"),
     ("keep\n\ndrop\n", "line 3: drop: expected a reason; 1 line before it was applied, none after it"),
     ("edit\n", "expected the new text; 0 lines before it were applied"), ("set speed\n", "a field and its value"),
     ("find zebra\n", "nothing found"), ("go 77\n", "no entry has the index"), ("undo 77\n", "no entry has the index"),
     ("keep 1\nkeep\n", "line 2: keep: ambiguous after a line with an index; add the index"),
     ("keep 1\nedit A river runs.\n", "ambiguous after a line"), ("set 1 place x\nskip\n", "ambiguous after a line"),
     ("undo\nkeep\n", "ambiguous after a line"), ("keep it\n", "expected an index or nothing but got 'it'"),
     ("keep\nkeep\nkeep\n", "line 3: keep: every entry of the list is decided")],
)  # fmt: skip
def test_a_line_that_cannot_be_done_stops_a_script(tmp_path: Path, script: str, says: str) -> None:
    write_entries(tmp_path / "list.json", entries(2))
    done = command(tmp_path, script, "list.json", *ANNA)
    assert done.returncode == 2 and says in " ".join(done.stderr.split())
    path = tmp_path / "d.jsonl"
    written = len(lines(path)) if path.exists() else 0
    decisions = sum(line.split(" ")[0] in ("keep", "set") for line in script.split("\n")[:-2])
    assert written == decisions  # those before the last line


def piped(folder: Path, script: str, count: int = 8) -> list[str]:
    """Lines printed for a script that succeeds, after the screen that every run begins with."""
    write_entries(folder / "list.json", entries(count))
    done = command(folder, script, "list.json", *ANNA)
    assert done.returncode == 0, done.stderr
    first = done.stdout.index("\nwords ")
    return done.stdout[first + 1 :].splitlines()[1:] + done.stderr.splitlines()


def test_decisions_line_after_line_fall_on_one_entry_after_the_other(tmp_path: Path) -> None:
    write_entries(tmp_path / "list.json", entries(4))
    done = command(tmp_path, "keep\ndrop unclear\nskip\nquit\n", "list.json", *ANNA)
    assert done.returncode == 0, done.stderr
    with DecisionFile(tmp_path / "other.jsonl") as file:
        order = [entry.index for entry in Review(entries(4), file, "anna").entries]
    told = [(line["index"], line["decision"]) for line in lines(tmp_path / "d.jsonl")]
    assert told == list(zip(order, ["keep", "drop", "skip"], strict=False))
    assert "2 of 4 decided: 1 kept, 0 edited, 1 dropped" in done.stderr


def test_each_decision_of_a_script_is_answered_by_a_line_and_screens_only_where_asked_for(tmp_path: Path) -> None:
    told = piped(tmp_path, "go 3\nkeep\nkeep 0005\nskip 6\ndrop 0004 still\nset 0003 place a long pier\nundo 5\n")
    assert told == [
        "0003  keep", "0005  keep", "0006  skipped", "0004  drop: still", "0003  set place: a long pier (was yard)",
        "0005  undone: keep",
        "2 of 8 decided: 1 kept, 0 edited, 1 dropped, 1 with corrected fields; run the same command again to resume",
    ]  # fmt: skip
    shown = "\n".join(piped(tmp_path, "go 3\ngo 7\nkeep\nshow 8\n"))
    assert "A wheel number 3 moves." in shown and "a long pier" in shown and "place was yard" in shown
    assert "A flag number 7" not in shown and "A wheel number 8 moves." in shown


def test_somebody_who_reads_along_sees_each_entry_before_deciding(tmp_path: Path) -> None:
    with DecisionFile(tmp_path / "d.jsonl") as file:
        told = io.StringIO()
        review = Review(entries(3), file, "anna")
        LineReview(review, Console(file=told, width=100), reader=True).run(["keep", "keep", "set speed fast", "keep"])
    shown = told.getvalue()
    assert all(shown.count(f"A {noun} number") >= 1 for noun in ("kettle", "flag", "wheel"))
    assert shown.count("outcome") == 4 and "Every entry of the list is decided" in shown


def test_what_is_wrong_with_a_new_text_is_printed_and_counted(tmp_path: Path) -> None:
    good = "A wheel rolls down the long ramp in the yard and stops against the old wall."
    told = piped(
        tmp_path, f"edit 0003 {good}\nedit 0008 {good.replace('old', 'red')}\nset 8 subject_noun wheel\n"
        "set 8 subject_noun kite\n"
        "edit 0002 Something moves \u2014 in the yard behind the long wall of the old brick house\n"
    )  # fmt: skip
    assert told[:3] == [f"0003  edit: {good}", f"0008  edit: {good.replace('old', 'red')}",
                        "0008  warning: it begins with 'a wheel rolls' like 0003"]  # fmt: skip
    assert told[3] == "0008  set subject_noun: wheel (was wheel)"
    assert told[4].startswith("0008  set subject_noun: kite")
    assert told[5:7] == ["0008  warning: the subject is not named: 'kite'",
                         "0008  warning: the subject 'a wheel' is not of 'kite'"]  # fmt: skip
    assert {line.partition("warning: ")[2] for line in told[8:11]} == {
        "it does not end with a full stop", "not plain text: '\u2014'", "the subject is not named: 'flag'"
    }  # fmt: skip
    assert told[11:] == [
        "3 of 8 decided: 0 kept, 3 edited, 0 dropped, 1 with corrected fields; run the same command again to resume",
        "6 warnings, printed above",
    ]


@pytest.mark.parametrize(
    "line, says",
    [("edit 12 horses gallop.", "no entry has the index 12"), ("edit 0012 Twelve horses.", "no entry has the index"),
     ("edit 1005 starlings wheel.", "1005 is an index; if the text begins with it"),
     ("drop 12 words", "neither an index"),
     ("drop 3 still", "3 is an index of this list and a reason's digit"), ("keep 0012", "no entry has the index 0012"),
     ("set 1005 sped fast", "expected a field (subject, "), ("set 1005 speed quick", "one of slow, moderate, fast"),
     ("set 1005 seconds 61", "Expected seconds in (0, 60]"), ("set 1005 seconds soon", "seconds to be a number"),
     ("set 1005 pattern chaos", "Expected a pattern of"), ("set 3 speed fast", "no tags"),
     ("keep 7", "2 entries have")],
)  # fmt: skip
def test_an_index_is_never_mistaken_for_words_nor_words_for_an_index(tmp_path: Path, line: str, says: str) -> None:
    def entry(index: str, tags: Tags | None = None) -> PromptEntry:
        return PromptEntry(index, f"A kite {index}{bool(tags)} rises.", "a kite", "kite", "beach", "rising", tags=tags)

    write_entries(tmp_path / "list.json", [entry("1005", Tags()), entry("3"), entry("007"), entry("0007")])
    done = command(tmp_path, f"{line}\n", "list.json", *ANNA)
    assert done.returncode == 2 and says in done.stderr and not (tmp_path / "d.jsonl").exists()


def test_a_text_that_begins_with_a_number_goes_after_an_index(tmp_path: Path) -> None:
    piped(tmp_path, "edit 0003 12 horses gallop.\nedit 0004 0003 horses gallop.\n")
    assert [line["edited"] for line in lines(tmp_path / "d.jsonl")] == ["12 horses gallop.", "0003 horses gallop."]


def test_a_reason_that_is_no_preset_is_taken_and_the_presets_are_told_once(tmp_path: Path) -> None:
    told = piped(
        tmp_path, "drop 0001 dull stuff\ndrop 0002 dull\ndrop 0003 o dull\ndrop 0004 3 too dark\ndrop 0005 Vague\n"
    )
    assert [line["reason"] for line in lines(tmp_path / "d.jsonl")] == [
        "dull stuff", "dull", "dull", "unseen: too dark", "vague"
    ]  # fmt: skip
    notes = [line for line in told if "not a preset reason" in line]
    assert len(notes) == 1 and told.index(notes[0]) == 1 and "3 unseen" in notes[0]
    write_entries(tmp_path / "list.json", entries(1))
    quiet = command(tmp_path, "drop 0001 o dull\n", "list.json", "--reviewer", "ben", "--decisions", "e.jsonl")
    assert "not a preset" not in quiet.stdout


def test_help_by_lines_explains_the_lines(tmp_path: Path) -> None:
    told = "\n".join(piped(tmp_path, "help\n"))
    for form in ("set [INDEX] FIELD VALUE", "tags.seconds", "show [INDEX]", "on ", "3 unseen"):
        assert form in told


def test_hostile_text_reaches_the_screen_escaped(tmp_path: Path) -> None:
    evil = "A dog\x1b]0;owned\x07 runs \x1b[2J‮ away [red]markup[/red]\n\r."
    entry = PromptEntry("1\x1b[2J", evil, evil, evil, evil, evil)
    with DecisionFile(tmp_path / "d.jsonl") as file:
        told = io.StringIO()
        review = Review([entry], file, "mallory\x1b[2J")
        LineReview(review, Console(file=told, width=200), True).run(["drop \x1b[31mred", "undo"])
    shown = told.getvalue()
    assert not any(ord(c) < 32 and c != "\n" for c in shown) and "‮" not in shown
    assert "[red]markup[/red]" in shown and "\\x1b[2J" in shown


def test_wrong_usage_is_told(tmp_path: Path) -> None:
    write_entries(tmp_path / "list.json", entries(2))
    for arguments in (["list.json"], ["list.json", "--reviewer", " ", "--decisions", "d"], ["--apply", "list.json"],
                      ["--agreement", "none.jsonl"], ["--agreement", "list.json"],
                      ["--apply", "list.json", "--out", "o.json"]):  # fmt: skip
        assert command(tmp_path, "", *arguments).returncode == 2
    said = command(tmp_path, "", "--agreement", "list.json").stderr
    assert "list.json is not a file of review decisions" in said
