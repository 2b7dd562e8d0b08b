"""Stills, slide shows and noise: no score of a clip, an INDEX of 0 in what is said of a set."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vmmetrics
from tests.scoring.stored_runs import clip, five, write
from vmmetrics.cli.results import results_parts
from vmmetrics.metrics import METRICS
from vmmetrics.perception.content import find_unjudgeable
from vmmetrics.scoring.diff_text import diff_parts, verdict
from vmmetrics.scoring.leaderboard import make_boards
from vmmetrics.scoring.leaderboard_text import board_parts, to_csv
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.summary import missing_lines
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.thresholds import MissingCheck, Threshold, judge
from vmmetrics.types import collapse_of
from vmmetrics.utils.display.tables import to_latex, to_markdown
from vmmetrics.video import read_clip

NOISE = "the clip is noise: it contains no shape to follow"
STILL = "nothing moves: all 33 frames show the same image"
SLIDES = "nothing moves: 3 still images, with only cuts and fades between them"
GOOD = {"cas": 0.512, "mss": 1.0}  # INDEX 0.512^(2/3) = 0.64


def collapsed(name: str, reason: str, prompt: str | None = None) -> Record:
    return clip(name, {"pas": 0.0} if reason == STILL else {}, prompt, missing=dict.fromkeys(METRICS, reason))


def checkpoint(good: int, frozen: int, noise: int, **other: Any) -> list[Record]:
    kinds = [None] * good + [STILL] * frozen + [NOISE] * noise
    names = [f"{number}.mp4" for number in range(len(kinds))]
    return [
        clip(name, GOOD, f"prompt {name}", **other) if kind is None else collapsed(name, kind, f"prompt {name}")
        for name, kind in zip(names, kinds, strict=True)
    ]


def test_the_reasons_that_are_recorded_state_their_kind() -> None:
    rng = np.random.default_rng(0)
    picture = np.repeat(np.repeat(rng.integers(0, 256, (6, 8, 3), np.uint8), 16, axis=0), 16, axis=1)
    other = np.roll(picture[::-1], 40, axis=1)
    clips = {
        "still": np.repeat(picture[None], 16, axis=0),
        "slides": np.concatenate([np.repeat(p[None], 12, axis=0) for p in (picture, other, 255 - picture)]),
        "noise": rng.integers(0, 256, (16, 96, 128, 3), np.uint8),
    }
    for kind, frames in clips.items():
        unjudgeable = find_unjudgeable(read_clip(frames, fps=24, name=kind))
        assert unjudgeable is not None
        assert (unjudgeable.kind, collapse_of(unjudgeable.reason)) == (kind, kind)
    assert [collapse_of(reason) for reason in ("one frame", "no person is seen", "")] == [None] * 3


def test_a_record_counts_as_zero_only_where_an_index_was_asked_for() -> None:
    assert [collapsed("x.mp4", r).index_or_zero for r in (NOISE, STILL, SLIDES)] == [0.0] * 3
    assert [collapsed("x.mp4", r).motion_index for r in (NOISE, STILL, SLIDES)] == [None] * 3
    assert clip("x.mp4", GOOD).index_or_zero == pytest.approx(0.64)
    alone = clip("x.mp4", {}, missing={"mss": NOISE})
    assert (alone.collapsed, alone.index_or_zero, alone.unjudged) == ("noise", None, False)
    broken = clip("x.mp4", {}, missing=dict.fromkeys(METRICS, NOISE), errors={"mine": "broken"})
    assert (broken.collapsed, broken.index_or_zero, broken.unjudged) == ("noise", 0.0, False)
    partly = clip("x.mp4", GOOD, errors={"ois": "broken"})
    assert (partly.failed, partly.unjudged, partly.unjudged_in("ois")) == (True, False, True)
    short = clip("x.mp4", {}, missing=dict.fromkeys(METRICS, "one frame"))
    failed = clip("x.mp4", {}, error="The file is empty")
    late = clip("x.mp4", {"mss": 1.0}, errors={"cas": "timed out"})
    assert [(r.collapsed, r.index_or_zero, r.unjudged) for r in (short, failed, late)] == [(None, None, True)] * 3


def test_only_the_reasons_of_cas_and_mss_mark_a_collapse() -> None:
    """Those of other built-in metrics where neither was asked for; none of a plugin, none of the released code."""
    mine = {"mine": "nothing moves: by my definition"}
    assert clip("x.mp4", GOOD, missing=mine).collapsed is None
    short = clip("x.mp4", {}, missing={**dict.fromkeys(METRICS, "one frame"), **mine})
    assert (short.collapsed, short.index_or_zero, short.unjudged) == (None, None, True)
    assert clip("x.mp4", GOOD, missing={"ois": NOISE}).collapsed is None
    assert clip("x.mp4", {}, missing={"ois": NOISE}).collapsed == "noise"
    released = replace(collapsed("x.mp4", STILL), protocol="vmbench")
    assert (released.collapsed, released.index_or_zero) == (None, None)
    assert "motion_index_or_0" not in Table([released]).mean()


def test_a_collapsed_checkpoint_fails_the_gate() -> None:
    """Two of eight clips with 0.64: 0.64 of those judged, 0.16 of all."""
    table = Table(checkpoint(2, 3, 3))
    means = table.mean()
    assert (means["motion_index"].mean, means["motion_index"].clips) == (pytest.approx(0.64), 2)
    assert (means["motion_index_or_0"].mean, means["motion_index_or_0"].clips) == (pytest.approx(0.16), 8)
    (check,) = judge(table, [Threshold("motion_index", 0.5)])
    assert not check.passed
    assert "with 6 collapsed as 0 (0.6400 of the 2 judged), 0.3400 under 0.5" in str(check)
    (skipped,) = judge(table, [Threshold("motion_index", 0.5)], collapsed="skip")
    assert skipped.passed
    (none,) = judge(Table(checkpoint(0, 2, 1)), [Threshold("motion_index", 0.1)])
    assert (none.passed, none.mean.mean) == (False, 0.0)


def test_failures_are_never_zero_but_too_many_fail_the_gate() -> None:
    """One of eight is 12.5 %: above 10 %, and exactly the share of 0.125 passes."""
    whole = checkpoint(7, 0, 0)
    broken = [*whole, clip("8.mp4", {}, error="The file is empty")]
    mean, missing = judge(Table(broken), [Threshold("motion_index", 0.5)])
    assert mean.passed and mean.mean.mean == pytest.approx(0.64)
    assert missing == MissingCheck(0.1, None, 1, 8) and not missing.passed
    assert all(check.passed for check in judge(Table(broken), [Threshold("motion_index", 0.5)], most_missing=0.125))
    assert not judge(Table(broken), [])  # no gate was asked for
    assert [check.passed for check in judge(Table(broken), [], most_missing=0.1)] == [False]
    assert judge(Table([*whole, collapsed("8.mp4", STILL)]), [], most_missing=0.0) == []


def test_the_lines_name_clips_once_for_all_metrics() -> None:
    lines = missing_lines(Table(checkpoint(2, 1, 5)))
    assert lines[0].startswith("- CAS, MSS, OIS, PAS, TCS missing in 5 of 8 clips: collapsed, the clip is noise: ")
    assert lines[0].endswith("(3.mp4, 4.mp4, 5.mp4, 6.mp4, 7.mp4)")
    assert len(lines) == 2 and lines[1].endswith("collapsed, nothing moves: all 33 frames show the same image (2.mp4)")


def test_stills_of_any_length_are_one_line_before_other_reasons() -> None:
    records = [clip(f"s{n}.mp4", {}, missing={"cas": f"reason {n}", "mss": f"reason {n}"}) for n in range(12)]
    stills = [f"nothing moves: all {n + 10} frames show the same image" for n in range(14)]
    slides = [f"nothing moves: {n} still images, with only cuts and fades between them" for n in (2, 3, 3)]
    records += [collapsed(f"{n}.mp4", reason) for n, reason in enumerate([*stills, *slides])]
    lines = missing_lines(Table(records))
    assert lines[:2] == [
        "- CAS, MSS, OIS, PAS, TCS missing in 14 of 29 clips: collapsed, nothing moves: all frames show the same image"
        " (0.mp4, 1.mp4, 2.mp4, 3.mp4, 4.mp4 and 9 more)",
        "- CAS, MSS, OIS, PAS, TCS missing in 3 of 29 clips: collapsed, nothing moves: still images, with only cuts and"
        " fades between them (14.mp4, 15.mp4, 16.mp4)",
    ]
    assert lines[-1].startswith("- 2 more reasons") and len(lines) == 2 + 10 + 1


@pytest.mark.parametrize(("good", "judged", "zero"), [(2, "0.6400", "0.1600"), (0, "-", "0.0000")])
def test_a_table_has_both_means_of_the_index_with_their_names(good: int, judged: str, zero: str) -> None:
    table = Table(checkpoint(good, 3, 3))
    lines = repr(table).splitlines()
    assert lines[0].split() == ["clip", "CAS", "MSS", "OIS", "PAS", "TCS", "INDEX"]
    assert lines[4 + good].endswith("-")
    assert [" ".join(line.split()) for line in lines[8 + good :][:2]] == [
        f"INDEX of the {good} judged {judged}",
        f"INDEX with the 6 collapsed as 0 {zero}",
    ]
    html = table._repr_html_()
    assert f"<th>INDEX of the {good} judged</th>" in html and "<th>INDEX with the 6 collapsed as 0</th>" in html
    assert f"<th>{zero}" in html
    text = "\n".join(map(to_markdown, results_parts(table)))
    assert "| TCS | INDEX |" in text and "INDEX, judged | INDEX, collapsed as 0 |" in text
    assert ("n=2" in text) == (good == 2)


def test_without_collapsed_clips_the_index_has_one_mean() -> None:
    table = Table(checkpoint(2, 0, 0))
    assert repr(table).splitlines()[3].split()[-1] == "0.6400"
    assert "judged" not in repr(table) + table._repr_html_()


def test_markdown_and_latex_have_the_remarks() -> None:
    table = Table(checkpoint(2, 1, 0))
    for write_part in (to_markdown, to_latex):
        text = "\n".join(map(write_part, results_parts(table)))
        assert "no place among real footage" in text
        assert "collapsed, nothing moves: all 33 frames show the same image (2.mp4)" in text


def test_a_collapsed_checkpoint_is_worse(tmp_path: Path) -> None:
    """Six of eight fall by 0.64: by 0.48 on average, p = 2 / 2^6 of a sign-flip test."""
    before = write(tmp_path / "before", checkpoint(8, 0, 0))
    after = write(tmp_path / "after", checkpoint(2, 3, 3))
    found = vmmetrics.diff(before, after)
    zero, judged = found.differences[:2]
    assert (zero.metric, zero.clips, zero.difference) == ("motion_index_or_0", 8, pytest.approx(-0.48))
    assert zero.p == pytest.approx(2 / 2**6)
    assert (judged.metric, judged.clips, judged.difference) == ("motion_index", 2, 0)
    assert not verdict(found, "any")[0]
    passed, text = verdict(found, "motion_index")
    assert not passed and "worse in INDEX, collapsed as 0 −0.480" in text
    said = "\n".join(map(to_markdown, diff_parts(found)))
    assert "6 clips collapsed now: 2.mp4 (still), 3.mp4 (still), 4.mp4 (still), 5.mp4 (noise)" in said
    assert "INDEX, judged in both" in said
    assert verdict(vmmetrics.diff(before, after, collapsed="skip"), "motion_index")[0]


def test_a_few_that_collapse_fail_too_although_chance_could_do_it(tmp_path: Path) -> None:
    before = write(tmp_path / "before", checkpoint(8, 0, 0))
    found = vmmetrics.diff(before, write(tmp_path / "after", checkpoint(7, 0, 1)))
    assert found.worse("motion_index") == []
    for metric in ("motion_index", "mss", "any"):
        passed, text = verdict(found, metric)
        assert not passed and "lost by collapse in 1 clip with a score in the first run: 7.mp4 (noise)" in text
    again = vmmetrics.diff(write(tmp_path / "again", checkpoint(7, 0, 1)), write(tmp_path / "b", checkpoint(7, 0, 1)))
    assert verdict(again, "motion_index")[0]  # it had none before


def test_all_collapsed_on_both_sides_or_one(tmp_path: Path) -> None:
    good, bad = (write(tmp_path / name, checkpoint(*counts)) for name, counts in (("g", (8, 0, 0)), ("b", (0, 4, 4))))
    assert not verdict(vmmetrics.diff(good, bad), "motion_index")[0]
    assert not verdict(vmmetrics.diff(good, bad, collapsed="skip"), "motion_index")[0]  # nothing is left to compare
    assert verdict(vmmetrics.diff(bad, good), "motion_index")[0]
    again = write(tmp_path / "again", checkpoint(0, 4, 4))
    passed, text = verdict(vmmetrics.diff(bad, again), "motion_index")
    assert passed and "INDEX, collapsed as 0 0.000 [0.000, 0.000] over 8 clips" in text
    skipped = vmmetrics.diff(bad, again, collapsed="skip")
    assert verdict(skipped, "motion_index") == (False, "failed: no clip has a score in both runs in INDEX")
    noise = [write(tmp_path / name, checkpoint(0, 0, 4)) for name in "no"]
    assert not verdict(vmmetrics.diff(*noise, collapsed="skip"), "any")[0]


def test_the_index_that_is_not_tested_corrects_no_other(tmp_path: Path) -> None:
    """Holm over three rows of four: 3 times 2 / 2^6."""
    before, after = write(tmp_path / "before", checkpoint(8, 0, 0)), write(tmp_path / "after", checkpoint(2, 3, 3))
    found = vmmetrics.diff(before, after)
    raised = {d.metric: d.p_holm for d in found.differences}
    assert raised == {"motion_index_or_0": pytest.approx(3 * 2 / 2**6), "motion_index": None, "cas": 1.0, "mss": 1.0}
    assert found.differences[1].p == 1.0
    (table, *_) = map(to_markdown, diff_parts(found))
    assert next(line for line in table.splitlines() if "judged in both" in line).endswith("| 1.000 | – |")
    skipped = vmmetrics.diff(before, after, collapsed="skip")
    assert [d.metric for d in skipped.differences if d.p_holm is None] == ["motion_index_or_0"]
    assert (found.to_json()["collapsed"], skipped.to_json()["collapsed"]) == ("zero", "skip")


def test_a_leaderboard_ranks_with_the_collapsed_as_zero(tmp_path: Path) -> None:
    fair = {"cas": 0.343, "mss": 1.0}  # 0.49
    records = [clip(f"steady/{n}.mp4", fair, f"p{n}") for n in range(4)]
    records += [clip(f"bright/{n}.mp4", GOOD, f"p{n}") for n in range(2)]
    records += [collapsed("bright/2.mp4", NOISE, "p2"), collapsed("bright/3.mp4", STILL, "p3")]
    run = write(tmp_path / "run", records)
    (board,) = make_boards([run])
    assert board.columns[:2] == ("motion_index_or_0", "motion_index")
    assert [(row.model, row.cells[board.by].mean) for row in board.rows] == [
        ("steady", pytest.approx(0.49)), ("bright", pytest.approx(0.32)),
    ]  # fmt: skip
    assert board.steps[0].difference == pytest.approx((2 * (0.49 - 0.64) + 2 * 0.49) / 4)
    assert board.rows[1].cells["motion_index"].without == {"noise": 1, "still": 1}
    assert (
        "bright: 2 of 4 clips collapsed (1 noise, 1 still), INDEX counted as 0: bright/2.mp4, bright/3.mp4"
        in board.notes
    )
    text = "\n".join(map(to_markdown, board_parts(board, [])))
    assert "INDEX, collapsed as 0 | INDEX, judged |" in text and "n=2" in text
    assert make_boards([run], "motion_index")[0].by == "motion_index_or_0"
    (skipped,) = make_boards([run], collapsed="skip")
    assert (skipped.by, skipped.rows[0].model, skipped.rows[0].cells["motion_index_or_0"].mean) == (
        "motion_index", "bright", pytest.approx(0.32),
    )  # fmt: skip


def test_a_note_names_the_option_that_ranks_models_that_collapsed_throughout(tmp_path: Path) -> None:
    records = [clip("a/0.mp4", GOOD, "p"), collapsed("b/0.mp4", STILL, "p")]
    run = write(tmp_path / "run", records)
    (board,) = make_boards([run], collapsed="skip")
    (why,) = (note for note in board.notes if note.startswith("b is not ranked by INDEX: "))
    assert "CAS (nothing moves" in why
    assert "All models can be ranked by INDEX, collapsed as 0: --sort-by INDEX --collapsed zero" in board.notes
    (zero,) = make_boards([run], "motion_index", "zero")
    assert [row.rank for row in zero.rows] == [1, 2]
    (board,) = make_boards([run], "cas")
    assert "All models can be ranked by INDEX, collapsed as 0: --sort-by INDEX" in board.notes


def test_one_run_has_one_mean_and_one_interval_everywhere(tmp_path: Path) -> None:
    """Several clips a prompt, in uneven numbers, some scores missing, another model's prompts beside them."""
    rng = np.random.default_rng(4)
    records = [
        clip(f"a/{n:02}.mp4", dict(zip(METRICS, rng.random(5).tolist(), strict=True)), f"prompt {n % 7 % 5}")
        for n in range(20)
    ]
    records[3] = clip("a/03.mp4", {"mss": 0.4}, "prompt 3", missing={"cas": "one frame"})
    records[5] = collapsed("a/05.mp4", SLIDES, "prompt 0")
    others = [clip(f"b/{n}.mp4", five(0.3), f"other {n}") for n in range(3)]
    table = Table([*records[::-1], *others])
    (board,) = make_boards([write(tmp_path / "run", [*records, *others])])
    (cells,) = (row.cells for row in board.rows if row.model == "a")
    means = table.mean("a")
    assert means.keys() >= {"motion_index", "motion_index_or_0", *METRICS}
    for metric, mean in means.items():
        assert (cells[metric].mean, cells[metric].low, cells[metric].high, cells[metric].clips) == mean
    rows = [row["average"] for row in csv.DictReader(io.StringIO(table.to_csv())) if row["model"] == "a"]
    averages = [float(value) for value in rows if value]
    assert (len(averages), cells["average"].mean) == (18, pytest.approx(np.mean(averages)))
    (line,) = (row for row in csv.DictReader(io.StringIO(to_csv([board], []))) if row["model"] == "a")
    assert float(line["motion_index_or_0_low"]) == means["motion_index_or_0"].low
