"""The way through a list, and the file of decisions."""

from __future__ import annotations

import io
import multiprocessing
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

sys.path.insert(0, str(Path(__file__).parent))
from review_samples import entries, lines

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PromptEntry
from vmmetrics.prompts.review.decisions import DecisionFile, ReviewDecision, Standing, key_of, read_decisions, tidy
from vmmetrics.prompts.review.reviewing import Review
from vmmetrics.prompts.review.screen import LineReview
from vmmetrics.utils.schema import convert


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_every_decision_is_a_line_with_what_was_judged_and_how_long_it_took(tmp_path: Path) -> None:
    clock = Clock()
    with DecisionFile(tmp_path / "d.jsonl") as file:
        review = Review(entries(3), file, "anna", clock=clock)
        first, second = review.entries[:2]
        clock.now = 4.0
        review.keep()
        clock.now = 10.5
        review.drop("unseen: too dark")
        third = review.entries[2]
        review.edit("A horse runs.")
    told = lines(tmp_path / "d.jsonl")
    assert [line["decision"] for line in told] == ["keep", "drop", "edit"]
    assert [line["prompt"] for line in told] == [first.prompt, second.prompt, third.prompt]
    assert [line["seconds"] for line in told] == [4.0, 6.5, 0.0]
    assert told[1]["reason"] == "unseen: too dark" and told[2]["edited"] == "A horse runs."
    assert {line["reviewer"] for line in told} == {"anna"} and all(line["when"] for line in told)
    assert [line["key"] for line in told] == [key_of(entry) for entry in review.entries]


def test_undo_is_a_line_too_and_shows_the_entry_again(tmp_path: Path) -> None:
    with DecisionFile(tmp_path / "d.jsonl") as file:
        review = Review(entries(3), file, "anna")
        shown = review.entry
        review.keep()
        taken = review.undo()
        assert taken is not None and taken.decision == "keep"
        assert review.entry == shown and review.progress().done == 0
        assert review.undo() is None
    assert [line["decision"] for line in lines(tmp_path / "d.jsonl")] == ["keep", "undo"]


def test_undo_brings_back_the_decision_before_and_reaches_into_earlier_sessions(tmp_path: Path) -> None:
    with DecisionFile(tmp_path / "d.jsonl") as file:
        review = Review(entries(2), file, "anna")
        review.keep()
        review.show(0)
        review.drop("still")
    with DecisionFile(tmp_path / "d.jsonl") as file:
        review = Review(entries(2), file, "anna")
        review.undo()
        own = review.own()
        assert own is not None and own.decision == "keep"
        review.undo()
        assert review.own() is None and review.undo() is None


def test_a_new_session_goes_on_where_the_last_ended_though_the_list_was_renumbered_and_grew(tmp_path: Path) -> None:
    with DecisionFile(tmp_path / "d.jsonl") as file:
        review = Review(entries(6), file, "anna", seed=3)
        order = [entry.prompt for entry in review.entries]
        review.keep()
        review.keep()
    more = [PromptEntry(f"9{e.index}", e.prompt, e.subject, e.subject_noun, e.place, e.action) for e in entries(9)]
    with DecisionFile(tmp_path / "d.jsonl") as file:
        review = Review(more, file, "anna", seed=3)
        assert [e.prompt for e in review.entries if e.prompt in order] == order
        assert review.progress().done == 2
        seen = []
        while review.entry:
            seen.append(review.entry.prompt)
            review.keep()
        assert sorted(seen) == sorted(e.prompt for e in more if e.prompt not in order[:2])


def test_the_order_is_shuffled_by_the_seed_and_the_same_for_all_reviewers(tmp_path: Path) -> None:
    def order(reviewer: str, seed: int) -> list[str]:
        with DecisionFile(tmp_path / "d.jsonl") as file:
            return [e.index for e in Review(entries(30), file, reviewer, seed).entries]

    assert order("anna", 1) == order("ben", 1) != order("anna", 2)
    assert order("anna", 1) != sorted(order("anna", 1)) == [e.index for e in entries(30)]


def test_skipped_entries_come_again_at_the_end_the_longest_put_off_first(tmp_path: Path) -> None:
    with DecisionFile(tmp_path / "d.jsonl") as file:
        review = Review(entries(3), file, "anna")
        a, b = review.keys[:2]

        def shown() -> str:
            assert review.current is not None
            return review.keys[review.current]

        review.skip()
        review.skip()
        review.keep()
        assert shown() == a
        review.skip()
        assert shown() == b
        review.skip()
        assert shown() == a
        assert review.progress().skipped == 2 and review.progress().done == 1
        review.keep()
        review.keep()
        assert review.entry is None and review.progress().done == 3


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(["keep", "drop", "edit", "skip", "set", "undo", "jump"]), max_size=30), st.integers(0, 99)
)
def test_what_stands_is_what_a_list_of_undoable_steps_says(
    tmp_path_factory: object, steps: list[str], seed: int
) -> None:
    """A second account of the same steps: a plain stack of (entry, decision)."""
    folder = tmp_path_factory.mktemp("d")  # type: ignore[attr-defined]
    chance = random.Random(seed)
    stack: list[tuple[str, str]] = []
    outcomes: list[str] = []
    with DecisionFile(folder / "d.jsonl") as file:
        review = Review(entries(5), file, "anna")
        for step in steps:
            if step == "undo":
                taken = review.undo()
                assert (taken is None) == (not stack)
                if stack:
                    key, decision = stack.pop()
                    if decision == "set":
                        outcomes.pop()
                    assert taken is not None and (taken.key, taken.decision) == (key, decision)
            elif step == "jump":
                review.show(chance.randrange(5))
            elif review.current is not None:
                key = review.keys[review.current]
                newest = dict(one for one in stack if one[1] != "set").get(key)
                if step == "skip" and newest not in (None, "skip"):
                    review.skip()  # what was decided stands: no line
                    continue
                stack.append((key, step))
                if step == "set":
                    review.correct("outcome", f"it ends after {len(stack)}")
                    outcomes.append(f"it ends after {len(stack)}")
                    continue
                {"keep": review.keep, "skip": review.skip}.get(
                    step, (lambda: review.drop("vague")) if step == "drop" else (lambda: review.edit("Other."))
                )()
        expected = dict(one for one in stack if one[1] != "set")
        assert {k: d.decision for k, d in Standing(file.decisions, "anna").by_key.items()} == expected
        kinds = [d.decision for d in file.decisions]
        if stack and stack[-1][1] == "set":
            review.show(review.keys.index(stack[-1][0]))
            assert review.with_corrections().outcome == outcomes[-1]
    assert len(kinds) == len(stack) + 2 * kinds.count("undo")


def test_search_and_jump(tmp_path: Path) -> None:
    with DecisionFile(tmp_path / "d.jsonl") as file:
        review = Review(entries(10), file, "anna")
        found = review.find("KETTLE")
        assert {review.entries[p].index for p in found} == {"0001", "0006"}
        position = review.at_index("6")
        assert position is not None and review.entries[position].index == "0006"
        assert review.at_index("77") is None and review.find("zebra") == []
        review.show(position)
        review.keep()
        assert review.progress().done == 1


def test_entries_that_agree_in_all_fields_are_judged_once(tmp_path: Path) -> None:
    twice = entries(2) + entries(2)
    with DecisionFile(tmp_path / "d.jsonl") as file:
        assert len(Review(twice, file, "anna").entries) == 2


def test_blind_to_others_unless_asked(tmp_path: Path) -> None:
    with DecisionFile(tmp_path / "d.jsonl") as file:
        Review(entries(1), file, "anna").drop("SECRETREASON")
        for asked in (False, True):
            told = io.StringIO()
            LineReview(Review(entries(1), file, "ben"), Console(file=told, width=100), asked).run([])
            assert ("SECRETREASON" in told.getvalue()) is asked


def test_a_torn_last_line_is_left_out_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    with DecisionFile(path) as file:
        review = Review(entries(4), file, "anna")
        review.keep()
        review.keep()
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"\n", b"\nnot json\n", 1) + whole[:40])
    with DecisionFile(path) as file:
        review = Review(entries(4), file, "anna")
        assert review.progress().done == 2 and "line 2 is damaged" in review.warnings()[0]
        review.keep()
    assert len(read_decisions([path])) == 3


@pytest.mark.parametrize(
    "content", ['{"index":"0001","prompt":"A dog."}\n', "[\n]\n", '{"reviewer":"a"}\n', "index,prompt"]
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "list.json"
    path.write_text(content)
    with pytest.raises(SetupError):
        DecisionFile(path)
    with pytest.raises(SetupError):
        read_decisions([path])
    assert path.read_text() == content


@pytest.mark.parametrize(
    "field, value", [("decision", "burn"), ("prompt", 3), ("seconds", "long"), ("decision", "set")]
)
def test_a_line_with_a_wrong_field_is_no_decision(field: str, value: object) -> None:
    line = ReviewDecision("anna", "now", "k", "1", "A dog.", "keep").to_json() | {field: value}
    with pytest.raises(ValueError):
        convert(ReviewDecision, line)


def _decide(path: Path, reviewer: str, count: int) -> None:
    with DecisionFile(path) as file:
        review = Review(entries(count), file, reviewer)
        while review.entry:
            review.keep()


def test_two_reviewers_write_one_file_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    people = [context.Process(target=_decide, args=(tmp_path / "d.jsonl", name, 40)) for name in ("anna", "ben")]
    for person in people:
        person.start()
    for person in people:
        person.join(60)
    made = read_decisions([tmp_path / "d.jsonl"])
    assert len(made) == 80 and len({(d.reviewer, d.key) for d in made}) == 80


def test_one_reviewer_in_two_windows_is_not_asked_twice(tmp_path: Path) -> None:
    """Both sessions read the file before they show the next entry."""
    context = multiprocessing.get_context("fork")
    with DecisionFile(tmp_path / "d.jsonl") as file:
        review = Review(entries(5), file, "anna")
        other = context.Process(target=_decide, args=(tmp_path / "d.jsonl", "anna", 5))
        other.start()
        other.join(60)
        review.keep()
        assert review.entry is None


def test_kill_in_the_middle_loses_nothing_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    child = os.fork()
    if child == 0:
        _decide(path, "anna", 100_000)
        os._exit(0)
    while not path.exists() or path.stat().st_size < 20_000:
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    before = read_decisions([path])
    with DecisionFile(path) as file:
        Review(entries(3), file, "ben").keep()
    after = read_decisions([path])
    assert len(before) > 100 and after[:-1] == before and after[-1].reviewer == "ben"


def test_files_written_before_there_were_corrections_are_read(tmp_path: Path) -> None:
    (entry,) = entries(1)
    (tmp_path / "d.jsonl").write_text(
        f'{{"reviewer":"anna","when":"2026-11-21T20:00:00+00:00","key":"{key_of(entry)}","index":"0001",'
        f'"prompt":"{entry.prompt}","decision":"drop","reason":"still","seconds":0.003}}\n'
    )
    with DecisionFile(tmp_path / "d.jsonl") as file:
        own = Review([entry], file, "anna")
        assert own.progress().dropped == 1 and own.undo() is not None and own.progress().done == 0


@given(st.text())
def test_tidy_text_is_one_printable_line(text: str) -> None:
    assert tidy(text).isprintable() and tidy(tidy(text)) == tidy(text)
