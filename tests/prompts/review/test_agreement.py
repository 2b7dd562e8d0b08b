"""Agreement of reviewers against figures worked by hand and other packages; the list they leave."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vmmetrics.cli.main import main
from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PromptEntry, Tags
from vmmetrics.prompts.files import read_entries, write_entries
from vmmetrics.prompts.review.agreement import Rule, apply_decisions, measure_review_agreement
from vmmetrics.prompts.review.decisions import DecisionFile, ReviewDecision, key_of
from vmmetrics.prompts.review.reviewing import Review

LETTERS = {"k": "keep", "e": "edit", "f": "edit", "d": "drop"}


def listed(count: int) -> list[PromptEntry]:
    return [
        PromptEntry(f"{n:04d}", f"Prompt {n} moves.", "a dog", "dog", "yard", "moving") for n in range(1, count + 1)
    ]


def judged(**columns: str) -> list[ReviewDecision]:
    """Decisions from a word per reviewer, a letter a prompt: k keep, e and f edit (to two texts), d drop, - nothing."""
    return [
        ReviewDecision(
            name, f"2026-01-0{day}", key_of(entry), entry.index, entry.prompt, LETTERS[letter],
            edited=f"Edited {letter}." if letter in "ef" else "", seconds=float(day),
        )
        for day, (name, letters) in enumerate(columns.items(), start=1)
        for entry, letter in zip(listed(len(letters)), letters, strict=True)
        if letter != "-"
    ]  # fmt: skip


def test_two_reviewers_by_hand() -> None:
    """Of 10 prompts 8 agree; chance is 0.7 × 0.7 + 0.3 × 0.3 = 0.58, so Cohen's κ is 0.22 / 0.42."""
    found = measure_review_agreement(judged(anna="kkkkkkkddd", ben="kkkkkkdddk"), resamples=50)
    assert found.shared == 10 and found.two.percent.value == pytest.approx(0.8)
    assert found.two.cohen.value == pytest.approx(0.22 / 0.42)
    # α: 1 − (20 − 1) × 4 / (20² − 14² − 6²): four unlike ordered pairs, marginals 14 and 6
    assert found.two.alpha.value == pytest.approx(1 - 19 * 4 / (400 - 196 - 36))
    assert [one.decision for side in found.differing for one in side.values()] == ["keep", "drop", "drop", "keep"]
    assert found.two.cohen.low is not None and found.two.cohen.low < 0.52 < (found.two.cohen.high or 0)
    assert [(r.name, r.kept, r.edited, r.dropped, r.seconds) for r in found.reviewers] == [
        ("anna", 7, 0, 3, 1.0), ("ben", 7, 0, 3, 2.0)
    ]  # fmt: skip


def test_edits_count_as_staying_in_one_table_and_as_their_own_in_the_other() -> None:
    found = measure_review_agreement(judged(anna="kekd", ben="eekd"), resamples=10)
    assert found.two.percent.value == 1 and found.three.percent.value == pytest.approx(0.75)
    assert len(found.differing) == 1  # keep against edit; the same edit twice agrees


def test_the_same_edit_agrees_and_another_text_differs() -> None:
    found = measure_review_agreement(judged(anna="ee", ben="ef"), resamples=10)
    assert found.three.percent.value == 1 and [s["ben"].index for s in found.differing] == ["0002"]


@settings(max_examples=30)
@given(st.lists(st.text("ked-", min_size=3, max_size=3), min_size=4, max_size=25))
def test_alpha_and_kappa_against_other_packages(rows: list[str]) -> None:
    krippendorff = pytest.importorskip("krippendorff")
    kappa = pytest.importorskip("statsmodels.stats.inter_rater")
    columns = ["".join(row[r] for row in rows) for r in range(3)]
    found = measure_review_agreement(judged(anna=columns[0], ben=columns[1], eva=columns[2]), resamples=0)
    codes = np.array([[np.nan if c == "-" else "ked".index(c) for c in row] for row in rows])
    shared = codes[(~np.isnan(codes)).sum(axis=1) > 1]
    assert found.shared == len(shared)
    if len(shared) < 2:
        return
    pairs = [[a == b for a, b in itertools.combinations(row[~np.isnan(row)], 2)] for row in shared]
    assert found.three.percent.value == pytest.approx(np.mean([np.mean(p) for p in pairs]))
    if len(np.unique(shared[~np.isnan(shared)])) > 1:
        alpha = krippendorff.alpha(shared.T, level_of_measurement="nominal")
        assert found.three.alpha.value == pytest.approx(alpha)
    each = []
    for a, b in itertools.combinations(range(3), 2):
        both = shared[~np.isnan(shared[:, [a, b]]).any(axis=1)][:, [a, b]].astype(int)
        table = np.zeros((3, 3))
        for x, y in both:
            table[x, y] += 1
        chance = (table.sum(0) * table.sum(1)).sum()
        if table.sum() and chance < table.sum() ** 2:
            each.append(kappa.cohens_kappa(table, return_results=False))
    if each:
        assert found.three.cohen.value == pytest.approx(np.mean(each), abs=1e-9)


def test_nothing_shared_or_no_variance_is_told_not_guessed() -> None:
    apart = measure_review_agreement(judged(anna="kk--", ben="--dk"), resamples=10)
    assert apart.shared == 0 and apart.two.cohen.value is None and apart.two.cohen.note
    alike = measure_review_agreement(judged(anna="kkk", ben="kkk"), resamples=10)
    assert alike.two.percent.value == 1 and alike.two.cohen.value is None and alike.two.alpha.value is None


def test_three_reviewers_have_a_line_for_each_pair() -> None:
    found = measure_review_agreement(judged(anna="kkdd", ben="kkdd", eva="dd--"), resamples=10)
    assert set(found.pairs) == {("anna", "ben"), ("anna", "eva"), ("ben", "eva")}
    assert found.pairs["anna", "ben"].percent.value == 1 and found.pairs["anna", "eva"].percent.value == 0


@pytest.mark.parametrize(
    "votes, rule, outcome",
    [
        ("kk", "unanimous", "keep"), ("dd", "unanimous", "drop"), ("ee", "unanimous", "edit"),
        ("kd", "unanimous", "conflict"), ("ke", "unanimous", "conflict"), ("ef", "unanimous", "conflict"),
        ("kkd", "any-drop", "drop"), ("ke", "any-drop", "conflict"), ("kk", "any-drop", "keep"),
        ("kkd", "majority", "keep"), ("kdd", "majority", "drop"), ("eek", "majority", "edit"),
        ("kd", "majority", "conflict"), ("kef", "majority", "conflict"), ("kkdd", "majority", "conflict"),
        ("k", "unanimous", "keep"), ("--", "unanimous", "undecided"),
    ],
)  # fmt: skip
def test_rules(votes: str, rule: str, outcome: str) -> None:
    (entry,) = listed(1)
    decisions = judged(**{f"r{n}": vote for n, vote in enumerate(votes)})
    applied = apply_decisions([entry], decisions, Rule(rule))
    parts = {"conflict": applied.conflicts, "drop": applied.dropped, "undecided": applied.undecided}
    if outcome in parts:
        assert parts[outcome] == (entry,) and not applied.kept
    else:
        (kept,) = applied.kept
        assert kept.prompt == ("Edited e." if outcome == "edit" else entry.prompt)
        assert kept.provenance["review"].get("edited_from") == (entry.prompt if outcome == "edit" else None)
        assert applied.edited == (outcome == "edit")
    assert sum(map(len, (applied.kept, applied.dropped, applied.conflicts, applied.undecided))) == 1


def test_a_second_review_keeps_what_the_first_left() -> None:
    (entry,) = listed(1)
    (first,) = apply_decisions([entry], judged(anna="e")).kept
    (again,) = apply_decisions(
        [first], [replace(d, key=key_of(first), prompt=first.prompt) for d in judged(ben="k")]
    ).kept
    review = again.provenance["review"]
    assert review["by"] == ["ben"] and review["before"] == first.provenance["review"]
    assert review["before"]["edited_from"] == entry.prompt
    (same,) = apply_decisions(
        [again], [replace(d, key=key_of(again), prompt=again.prompt) for d in judged(ben="k")]
    ).kept
    assert same.provenance == again.provenance  # the same decisions applied once more are not said twice


def test_so_many_reviewers_must_have_decided() -> None:
    applied = apply_decisions(listed(2), judged(anna="kk", ben="k-"), reviewers=2)
    assert [e.index for e in applied.kept] == ["0001"] and [e.index for e in applied.undecided] == ["0002"]


def correction(reviewer: str, entry: PromptEntry, field: str, value: str, when: str = "2026-02-01") -> ReviewDecision:
    return ReviewDecision(reviewer, when, key_of(entry), entry.index, entry.prompt, "set", field=field, value=value)


def test_corrections_are_taken_over_and_what_was_there_is_kept() -> None:
    (entry,) = listed(1)
    entry = replace(entry, tags=Tags(seconds=4), provenance={"author": "anna"})
    made = [
        correction("anna", entry, "tags.speed", "slow"), correction("anna", entry, "place", "yard"),
        *judged(anna="e"),
        correction("anna", entry, "tags.seconds", "6"), correction("anna", entry, "tags.speed", "fast", "2026-02-03"),
    ]  # fmt: skip
    applied = apply_decisions([entry], made)
    (kept,) = applied.kept
    assert kept.tags == Tags(speed="fast", seconds=6) and kept.place == "yard" and kept.prompt == "Edited e."
    assert kept.provenance == {
        "author": "anna",
        "review": {
            "by": ["anna"], "when": "2026-02-03", "edited_from": entry.prompt,
            "corrected_from": {"tags.speed": "moderate", "tags.seconds": "4"},
        },
    }  # fmt: skip
    assert (applied.edited, applied.corrected) == (1, 1)
    undone = [*made, replace(made[-1], decision="undo", field="", value="")]
    assert apply_decisions([entry], undone).kept[0].tags == Tags(speed="slow", seconds=6)


@pytest.mark.parametrize(
    "rule, votes, values, outcome",
    [
        ("unanimous", "kk", ("mat", "mat"), "mat"), ("unanimous", "kk", ("mat", None), "mat"),
        ("unanimous", "kk", ("mat", "rug"), None), ("unanimous", "kk", ("mat", "yard"), None),
        ("any-drop", "kk", ("mat", "rug"), None), ("majority", "kkk", ("mat", "rug", "rug"), "rug"),
        ("majority", "kkk", ("mat", "yard", "yard"), "yard"), ("majority", "kkk", ("mat", "rug", None), None),
        ("majority", "kkd", ("mat", "mat", "rug"), "mat"), ("unanimous", "k-", ("mat", "rug"), "mat"),
    ],
)  # fmt: skip
def test_corrections_of_several(rule: str, votes: str, values: tuple[str | None, ...], outcome: str | None) -> None:
    (entry,) = listed(1)
    names = [f"r{n}" for n in range(len(votes))]
    decisions = judged(**dict(zip(names, votes, strict=True)))
    made = [correction(name, entry, "place", v) for name, v in zip(names, values, strict=True) if v]
    applied = apply_decisions([entry], [*decisions, *made], Rule(rule))
    assert [kept.place for kept in applied.kept] == ([outcome] if outcome else [])
    assert applied.conflicts == (() if outcome else (entry,))
    assert applied.corrected == (outcome not in (None, "yard"))


def test_a_correction_alone_decides_nothing() -> None:
    (entry,) = listed(1)
    applied = apply_decisions([entry], [correction("anna", entry, "place", "mat")])
    assert applied.undecided == (entry,) and not applied.kept


def test_a_correction_that_the_list_cannot_take_is_told() -> None:
    (entry,) = listed(1)
    with pytest.raises(SetupError, match="0001: the entry has no tags"):
        apply_decisions([entry], [*judged(anna="k"), correction("anna", entry, "tags.speed", "fast")])


def test_the_time_of_a_script_is_no_time(tmp_path: Path) -> None:
    write_entries(tmp_path / "list.json", listed(2))
    for name, seconds in (("anna", 0.004), ("ben", 0.0)):
        with DecisionFile(tmp_path / "d.jsonl") as file:
            for entry in listed(2):
                file.append(
                    ReviewDecision(name, "now", key_of(entry), entry.index, entry.prompt, "keep", seconds=seconds)
                )
    assert "median" not in command(tmp_path, "--agreement", "d.jsonl").stdout
    with DecisionFile(tmp_path / "d.jsonl") as file:
        file.append(ReviewDecision("eva", "now", key_of(listed(1)[0]), "0001", "Prompt 1 moves.", "keep", seconds=3.0))
    told = command(tmp_path, "--agreement", "d.jsonl").stdout
    assert "median" in told and "3.0" in told and "0.0" not in told.split("κ")[0]


def test_half_a_pair_of_utf16_survives(tmp_path: Path) -> None:
    """JSON can hold one, and UTF-8 cannot."""
    (tmp_path / "list.json").write_text('[{"index": "0001", "prompt": "A dog \\ud800 runs."}]')
    with DecisionFile(tmp_path / "d.jsonl") as file:
        Review(read_entries(tmp_path / "list.json"), file, "anna").keep()
    assert command(tmp_path, "--decisions", "d.jsonl", "--apply", "list.json", "--out", "o.json").returncode == 0
    assert [e.prompt for e in read_entries(tmp_path / "o.json")] == ["A dog \ud800 runs."]


def command(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The command in this process."""
    told, said, code = io.StringIO(), io.StringIO(), 0
    with contextlib.chdir(folder), contextlib.redirect_stdout(told), contextlib.redirect_stderr(said):
        try:
            main(["prompts", "review", *map(str, arguments)])
        except SystemExit as stop:
            code = int(stop.code or 0)
    return subprocess.CompletedProcess([], code, told.getvalue(), said.getvalue())


def test_a_third_person_settles_what_two_differ_on(tmp_path: Path) -> None:
    write_entries(tmp_path / "list.json", listed(3))
    path = tmp_path / "d.jsonl"
    for name, drops in (("anna", {"0002"}), ("ben", {"0003"})):
        with DecisionFile(path) as file:
            review = Review(listed(3), file, name)
            while review.entry:
                review.drop("vague") if review.entry.index in drops else review.keep()
    done = command(tmp_path, "--agreement", path, "--apply", "list.json", "--out", "new.json")
    assert done.returncode == 0, done.stderr
    assert "2 differ" in done.stdout and "33%" in done.stdout
    assert [e.index for e in read_entries(tmp_path / "new.json")] == ["0001"]
    left = read_entries(tmp_path / "new.conflicts.json")
    assert left == [e for e in listed(3) if e.index != "0001"]
    with DecisionFile(path) as file:
        review = Review(left, file, "eva")
        while review.entry:
            review.keep()
    done = command(tmp_path, "--decisions", path, "--apply", "list.json", "--out", "new.json", "--rule", "majority")
    assert done.returncode == 0 and len(read_entries(tmp_path / "new.json")) == 3
    assert json.loads((tmp_path / "new.conflicts.json").read_text()) == []  # what was there is no longer so
    assert command(tmp_path, "--decisions", path, "--apply", "list.json", "--out", "list.json").returncode == 2
