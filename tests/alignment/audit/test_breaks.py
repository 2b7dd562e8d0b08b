"""Comparisons with a tolerance, and each check on a stub of which it is known what it depends on."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from vmmetrics.alignment.audit.breaks import breaks
from vmmetrics.alignment.audit.breaks.bench import Bench, NotRunError, Variant, differences
from vmmetrics.alignment.audit.breaks.coverage import channels
from vmmetrics.alignment.audit.calls import Answer, Limits
from vmmetrics.alignment.audit.clips import sample_of, tasks_of
from vmmetrics.alignment.audit.lines import Line, NotTried
from vmmetrics.alignment.audit.plan import CHECK_NAMES
from vmmetrics.alignment.audit.target import Target
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError

HERE = Path(__file__).parent


def stub(name: str, *takes: str) -> Target:
    return Target("function", f"stubs:{name}", takes or ("path",), name, origin=str(HERE))


def lines_of(target: Target, clips: Sequence[Clip], folder: Path, check: str) -> list[Line]:
    ((name, result),) = breaks(target, clips, folder, Limits(60), only=[check])
    assert name == check
    assert all((line.part, line.check, line.title != "") == ("breaks", check, True) for line in result.lines)
    return list(result.lines)


# What is the same.


@pytest.fixture(scope="session")
def bench(clips: list[Clip], tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(stub("motion", "frames"), clips, tmp_path_factory.mktemp("bench"), Limits(60), 0)


def answers(*values: float | None) -> list[Answer]:
    return [Answer(refused="no") if value is None else Answer({"motion": value}) for value in values]


def test_differences() -> None:
    inf, nan = math.inf, math.nan
    one, other = answers(1, 2, None, nan, nan, inf, inf, 1), answers(1.5, None, 3, nan, 1, inf, -inf, inf)
    assert differences(one, other, "motion") == [0.5, None, None, 0.0, inf, 0.0, inf, inf]
    assert differences(one, other, "other") == [None] * 8
    with pytest.raises(ValueError, match="zip"):
        differences(one, other[:1], "motion")


def test_scale_typical_and_slack(bench: Bench, clips: list[Clip]) -> None:
    values = sorted(answer.scores["motion"] for answer in bench.answers)
    assert bench.scale["motion"] == pytest.approx(values[-1] - values[0])
    assert bench.typical["motion"] == pytest.approx(sum(abs(v - values[3]) for v in values) / 7)
    assert bench.slack["motion"] == 0
    assert bench.tolerance("motion", [5.0, -math.inf], 0.01) == pytest.approx(0.01 * bench.scale["motion"])
    assert len(bench.few) == 5
    assert [bench.items[n] for n in bench.chosen] == bench.few


@pytest.mark.parametrize(
    ("factor", "grade", "verdict"),
    [(0.0, "good", "the same scores"), (0.9, "good", "the same scores"), (1.1, "bad", "another score: v")],
)
def test_tolerance(bench: Bench, factor: float, grade: str, verdict: str) -> None:
    expected = [answer.scores["motion"] for answer in bench.reference]
    moved = answers(*expected[:-1], expected[-1] + factor * 0.01 * bench.scale["motion"])
    (finding,) = bench.judged([(Variant("v", bench.few), moved)], bench.reference, 0.01)
    assert (finding.grade, finding.verdict) == (grade, verdict)


def test_refusals_and_lost_numbers(bench: Bench) -> None:
    expected = [answer.scores["motion"] for answer in bench.reference]

    def judged(*asked: Sequence[Answer]) -> list[tuple[str, str]]:
        variants = [(Variant(f"v{n}", bench.few), of) for n, of in enumerate(asked)]
        return [(finding.grade, finding.verdict) for finding in bench.judged(variants, bench.reference)]

    refused = answers(*[None] * 5)
    assert judged(refused, refused) == [("note", "refuses, and says so")]
    assert judged(refused, bench.reference) == [("good", "the same scores")]
    assert judged(answers(None, *expected[1:])) == [("good", "the same scores")]  # says that some are refused
    assert judged(answers(math.nan, *expected[1:])) == [("bad", "another score: v0")]
    malformed = [Answer(refused="MalformedError: 4 scores for 5 clips")] * 5
    assert judged(malformed, bench.reference)[0] == ("bad", "not one score a clip")
    text = next(bench.judged([(Variant("v", bench.few), answers(None, *expected[1:]))], bench.reference)).text
    assert "Refused: v for some clips" in text


def test_targets_that_cannot_be_audited(clips: list[Clip], tmp_path: Path) -> None:
    for target in (stub("absent"), stub("by_name", "frames")):
        with pytest.raises(SetupError, match="cannot be audited"):
            list(breaks(target, clips[:5], tmp_path, Limits(60), only=["distinct"]))


def test_checks_that_do_not_apply(clips: list[Clip], tmp_path: Path) -> None:
    results = dict(breaks(stub("motion", "frames"), clips[:5], tmp_path, Limits(60), only=["cut", "together", "ways"]))
    assert [result.not_tried for result in results.values()] == [
        [NotTried("breaks", name, why)]
        for name, why in (
            ("together", "it takes one clip a call"),
            ("cut", "it takes no files"),
            ("ways", "it takes clips in one way"),
        )
    ]
    skipped = breaks(stub("absent"), clips, tmp_path, Limits(60), only=["cut"], skip=["cut"])
    assert list(skipped) == []  # and no process was started


def test_names_of_checks_are_unique() -> None:
    assert len(set(CHECK_NAMES)) == len(CHECK_NAMES)  # defects, harmless changes and traps among them


# Each check where the truth is known.

KNOWN = [
    ("frames-read", "motion", ["frames"], "good", "every frame counts"),
    ("frames-read", "every_other", ["frames"], "note", "single ones do not count"),
    ("frames-read", "first_and_last", ["frames"], "note", "single ones do not count"),
    ("long-clips", "motion", ["frames"], "good", "every part of 128 frames counts"),
    ("long-clips", "first_and_last", ["frames"], "note", "single ones do not count"),
    ("regions", "motion", ["path"], "good", "the whole frame counts"),
    ("regions", "middle_of_the_frame", ["path"], "note", "parts of the frame do not count"),
    ("regions", "cuts_of_lightness", ["frames"], "open", "not told apart"),
    ("regions", "nothing_of_tall_frames", ["frames"], "note", "parts of the frame do not count"),
    ("channels", "motion", ["frames"], "good", "all colours count"),
    ("channels", "green_alone", ["frames"], "bad", "does not see red and blue"),
    ("channels", "without_blue", ["path"], "bad", "does not see blue"),
    ("channels", "cuts_of_lightness", ["frames"], "open", "not told apart"),
    ("channel-order", "motion", ["frames"], "open", "not told apart"),
    ("rate", "by_name", ["path"], "note", "does not use the frame rate"),
    ("rate", "whole_rates", ["path"], "bad", "rates are rounded"),
    ("again", "motion", ["path"], "good", "the same each time"),
    ("again", "draws", ["frames"], "bad", "another score in a later call"),
    ("processes", "motion", ["path"], "good", "the same scores"),
    ("processes", "by_hash", ["path"], "bad", "another score"),
    ("order", "motion", ["path"], "good", "no effect"),
    ("order", "sulks", ["path"], "bad", "another score: each after a broken one"),
    ("again", "remembers_the_last", ["path"], "bad", "another score in a later call"),
    ("same-name", "motion", ["path"], "good", "each by its content"),
    ("same-name", "remembers_names", ["path"], "bad", "another score"),
    ("names", "motion", ["path"], "good", "names play no part"),
    ("names", "by_name", ["path"], "bad", "another score: fake_bad_00.mp4"),
    ("together", "alone_or_all", ["paths"], "good", "as alone"),
    ("together", "mixes_neighbours", ["paths"], "bad", "another score"),
    ("together", "one_short", ["paths"], "bad", "not one score a clip"),
    ("broken-member", "alone_or_all", ["paths"], "note", "the whole call fails"),
    ("codecs", "motion", ["path"], "good", "the same scores"),
    ("codecs", "raw_planes", ["path"], "bad", "another score"),
    ("containers", "motion", ["path"], "good", "the same scores"),
    ("containers", "refuses_mp4_alone", ["path"], "note", "refuses, and says so"),
    ("cut", "motion", ["path"], "good", "refused"),
    ("cut", "frames_as_stated", ["path"], "bad", "scores a broken file"),
    ("no-video", "motion", ["path"], "good", "refused"),
    ("one-frame", "dies_of_one_frame", ["frames"], "bad", "hangs or dies"),
    ("memory", "motion", ["frames"], "good", "the same scores"),
    ("memory", "memory_order", ["frames"], "bad", "another score: fortran"),
    ("mutation", "motion", ["frames"], "good", "left alone"),
    ("mutation", "writes_to_its_input", ["frames"], "bad", "changes its input"),
    ("prompts", "no_question_of_prompts", ["path"], "bad", "scores without a prompt"),
    ("prompts", "asks_for_a_prompt", ["path"], "good", "asks for its prompt"),
    ("prompts", "takes_an_empty_prompt", ["path"], "note", "scores an empty prompt"),
    ("prompts", "deaf_to_prompts", ["path"], "note", "prompts play no part"),
    ("frames-read", "motion", ["path"], "good", "every frame counts"),
    ("frames-read", "never_flushed", ["path"], "bad", "the last are not read"),
    ("frames-read", "sixteen_at_most", ["frames"], "bad", "the last are not read"),
    ("long-clips", "worst_step", ["frames"], "good", "every part of 128 frames counts"),
    ("regions", "left_square", ["frames"], "note", "parts of the frame do not count"),
    ("directions", "motion", ["frames"], "good", "all directions alike"),
    ("directions", "to_the_right", ["frames"], "note", "one motion, another score by its direction"),
    ("rate", "motion", ["frames"], "note", "takes a rate that plays no part"),
    ("steady", "motion", ["frames"], "good", "any number of frames"),
    ("steady", "in_the_order_of_names", ["frames"], "note", "goes by the number of frames"),
    ("steady", "steps_that_are_any", ["frames"], "note", "still moments do not count"),
    ("steady", "worst_step", ["frames"], "note", "still moments do not count"),
    ("mirrored", "slopes", ["path"], "good", "mirrored, or negative, alike"),
    ("mirrored", "upward_slopes", ["frames"], "note", "changes: mirrored"),
    ("length", "worst_step", ["frames"], "good", "length plays no part"),
    ("length", "ring", ["frames"], "note", "changes: there and back"),
    ("rate", "slow_changes", ["path"], "good", "uses the frame rate"),
    ("irregular", "at_the_average_rate", ["path"], "note", "does not read the times of frames"),
    ("sizes", "motion", ["frames"], "good", "sizes play little part"),
    ("sizes", "padded_rows", ["frames"], "note", "changes: 130 instead of 128 columns"),
    ("lightness", "averages", ["frames"], "good", "light and dark alike"),
    ("lightness", "averages_in_bytes", ["frames"], "note", "changes: light instead of dark"),
    ("extremes", "share_of_light", ["frames"], "good", "the ends of the range count as others"),
    ("extremes", "histogram_without_255", ["frames"], "note", "changes: white of 254"),
    ("flat", "one_without_contrast", ["frames"], "good", "flat stills as others"),
    ("flat", "zero_without_contrast", ["path"], "bad", "another score where all is black"),
    ("flat", "share_of_light", ["frames"], "good", "stills differ"),
    ("hues", "hue_as_angle", ["frames"], "good", "colours count alike"),
    ("hues", "hue_as_number", ["frames"], "note", "one colour counts more"),
    ("hues", "motion", ["frames"], "good", "colours count alike"),
    ("references", "compares", ["path"], "good", "compares with its reference"),
    ("references", "compares_up_to_the_shorter", ["path"], "bad", "missing frames do not count"),
    ("references", "infinite_for_a_copy", ["path"], "note", "no finite number for an exact copy"),
    ("references", "raises_for_a_copy", ["path"], "note", "no finite number for an exact copy"),
    ("references", "deaf_to_references", ["path"], "bad", "the reference plays no part"),
    ("references", "one_with_a_reference", ["path"], "open", "not told apart"),
    ("references", "makes_up_a_reference", ["path"], "bad", "scores without a reference"),
    ("flash", "motion", ["frames"], "good", "flat frames count"),
    ("extremes", "averages", ["frames"], "good", "the ends of the range count as others"),
    ("extremes", "range_guessed_by_frame", ["frames"], "note", "changes: dark frames of 0 and 1"),
    ("rate", "twelve_a_second", ["frames"], "bad", "rates are rounded"),
    ("fade", "motion", ["frames"], "good", "lighter and darker alike"),
    ("fade", "one_without_contrast", ["frames"], "note", "a change of light alone is not seen"),
    ("flat", "lightness", ["frames"], "good", "stills differ"),
    ("flat", "blocks_of_sixteen", ["frames"], "note", "the width of flat frames counts"),
    ("distinct", "compares", ["path"], "good", "differ"),
    ("distinct", "motion", ["path"], "good", "differ"),
    ("distinct", "no_number", ["path"], "bad", "no finite number"),
    ("transitions", "no_number_for_stills", ["frames"], "open", "not told apart"),
    ("grey", "no_number_for_stills", ["frames"], "open", "not told apart"),
    ("flat", "no_number_for_stills", ["frames"], "open", "not told apart"),
    ("flash", "no_number_for_black", ["frames"], "open", "not told apart"),
    ("one-frame", "no_number_for_stills", ["frames"], "bad", "NaN in place of no score"),
    ("fade", "no_number_for_stills", ["frames"], "good", "lighter and darker alike"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "scorer", "takes", "grade", "verdict"), KNOWN)
def test_truth_is_found(
    check: str, scorer: str, takes: list[str], grade: str, verdict: str, clips: list[Clip], tmp_path: Path
) -> None:
    line = lines_of(stub(scorer, *takes), clips, tmp_path, check)[0]
    assert line.grade == grade
    assert line.verdict.startswith(verdict)


@pytest.mark.parametrize(
    ("before", "green", "grade"),
    [
        ((0.6, 0.2, 0.4), (0.1, 0.3, 0.5), "bad"), ((0.6, 0.2, None), (0.1, 0.3, None), "bad"),
        ((0.6, 0.2, 0.0), (0.1, 0.3, 0.0), "bad"), ((0.6, 0.2, 0.4), (0.1, 0.2, 0.4), "open"),
        ((0.0, 0.0, 0.0), (9.0, 9.0, 9.0), "open"), ((0.0, 1.0, 0.0), (9.0, 9.0, 9.0), "open"),
        ((0.6, 0.2, 0.4), (0.6, 0.2, 0.4), "open"), ((0.6, None, None), (0.1, None, None), "open"),
    ],
)  # fmt: skip
def test_a_colour_is_unread_where_another_moves_clips_that_differ(
    before: Sequence[float | None], green: Sequence[float | None], grade: str,
    bench: Bench, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    own = bench.copied(np.random.default_rng(0), "channels")
    asked = iter([answers(*of) for of in (before, before, green, before)])  # as they are; red, green, blue
    monkeypatch.setattr(own, "ask", lambda _: next(asked))
    (finding,) = channels(own)
    assert finding.grade == grade


@pytest.mark.parametrize(
    ("scorer", "verdict"),
    [("balance", "all directions alike"), ("balance_of_squashed_frames", "the shape of frames counts")],
)
def test_shapes_of_frames(scorer: str, verdict: str, tmp_path: Path) -> None:
    """On clips that ship: those of gravel are alike in all directions, so that their scores hardly differ."""
    (line,) = lines_of(stub(scorer, "frames"), sample_of(tasks_of([]), 8), tmp_path, "directions")
    assert line.verdict == verdict


@pytest.mark.parametrize(
    ("scorer", "mixed"), [("prompts_by_path", True), ("sorted_prompts", True), ("prompts_in_order", False)]
)
def test_prompts_of_batches(scorer: str, mixed: bool, clips: list[Clip], tmp_path: Path) -> None:
    lines = lines_of(stub(scorer, "paths"), clips, tmp_path, "prompts")
    assert ("mixes up prompts" in [line.verdict for line in lines]) == mixed


def test_little_of_a_stated_range(clips: list[Clip], tmp_path: Path) -> None:
    target = replace(stub("motion", "frames"), ranges={"": (0.0, 1e5)})
    (line,) = lines_of(target, clips, tmp_path, "distinct")
    assert (line.grade, line.verdict) == ("note", "little of its range is used")


@pytest.mark.parametrize(
    ("scorer", "higher", "verdict"),
    [("likes_flat_frames", True, "flat frames are rewarded"), ("likes_flat_frames", False, "flat frames count"),
     ("perfect_where_undefined", True, "flat frames are rewarded"), ("motion", False, "flat frames count")],
)  # fmt: skip
def test_reward_for_flat_frames(scorer: str, higher: bool, verdict: str, clips: list[Clip], tmp_path: Path) -> None:
    target = replace(stub(scorer, "frames"), higher_is_better={"": higher})
    assert [line.verdict for line in lines_of(target, clips, tmp_path, "flash")] == [verdict]


@pytest.mark.parametrize(
    ("scorer", "higher", "grade"),
    [("aligned", True, "good"), ("aligned_backwards", True, "note"), ("aligned_backwards", None, "open"),
     ("motion", False, "good"), ("motion", True, "good")],
)  # fmt: skip
def test_motion_against_unrelated_frames(
    scorer: str, higher: bool | None, grade: str, clips: list[Clip], tmp_path: Path
) -> None:
    target = replace(stub(scorer, "frames"), higher_is_better={} if higher is None else {"": higher})
    (line,) = lines_of(target, clips, tmp_path, "coherence")
    assert line.grade == grade
    assert (line.verdict.split(" costs ")[0] == "steady motion") == (grade != "open")


def test_two_frames_without_a_number(clips: list[Clip], tmp_path: Path) -> None:
    one, two = lines_of(stub("no_number_for_two", "frames"), clips, tmp_path, "one-frame")
    assert (one.grade, one.verdict) == ("good", "refused")
    assert (two.grade, two.verdict) == ("bad", "NaN in place of no score") and two.text.startswith("two frames: ")


@pytest.mark.parametrize(("scorer", "counts"), [("shouts_count", True), ("counts_words", False)])
def test_forms_of_a_prompt(scorer: str, counts: bool, clips: list[Clip], tmp_path: Path) -> None:
    texts = [line.text for line in lines_of(stub(scorer), clips, tmp_path, "prompts") if "form" in line.verdict]
    assert [text.split(" change")[0] for text in texts] == ["capitals"] * counts


def test_letters_within_words(clips: list[Clip], tmp_path: Path) -> None:
    (line,) = [of for of in lines_of(stub("named_colours"), clips, tmp_path, "prompts") if "form" in of.verdict]
    assert "letters within words" in line.text


def test_frames_that_are_never_read(clips: list[Clip], tmp_path: Path) -> None:
    (line,) = lines_of(stub("sixteen_at_most", "frames"), clips, tmp_path, "frames-read")
    assert line.text.startswith("frame 16 to 22 (of 0 to 22) can be replaced")
    (line,) = lines_of(stub("first_and_last", "frames"), clips, tmp_path, "long-clips")
    assert line.text.startswith("frame 64 to 111 (of 0 to 127) can be replaced")


@pytest.mark.parametrize(
    ("scorer", "short"), [("reads_ten_words", True), ("asks_for_a_prompt", False), ("refuses_many_words", False)]
)
def test_ends_of_long_prompts(scorer: str, short: bool, clips: list[Clip], tmp_path: Path) -> None:
    verdicts = [line.verdict for line in lines_of(stub(scorer), clips, tmp_path, "prompts")]
    assert ("the end of a long prompt does not count" in verdicts) == short


def test_a_count_of_what_is_rare_is_no_constant(tmp_path: Path) -> None:
    checks, real = ["distinct", "regions", "tiny"], sample_of(tasks_of([]))[3:9]
    found = dict(breaks(stub("cuts", "frames"), real, tmp_path, Limits(60), only=checks))
    (line,) = found["distinct"].lines
    assert (line.grade, line.verdict) == ("note", "the same for every clip")
    assert "all score 0; a cut scores 1" in line.text
    assert [found[name].lines[0].grade for name in checks[1:]] == ["open"] * 2


def test_rare_events_after_the_end_of_reading_are_missed(tmp_path: Path) -> None:
    real = sample_of(tasks_of([]))[3:9]
    (line,) = lines_of(stub("cuts_of_sixteen", "frames"), real, tmp_path, "frames-read")
    assert (line.grade, line.verdict) == ("bad", "the last are not read")


@pytest.mark.parametrize("check", ["frames-read", "regions", "channels", "long-clips", "transitions"])
def test_exact_checks_leave_scores_that_differ_open(check: str, clips: list[Clip], tmp_path: Path) -> None:
    (line,) = lines_of(stub("draws", "frames"), clips, tmp_path, check)
    assert line.grade in ("open", "good")


def test_a_check_that_cannot_be_run_costs_its_own_line(clips: list[Clip], tmp_path: Path) -> None:
    target, few = stub("dies_of_one_frame", "frames"), Limits(60)
    results = dict(breaks(target, clips, tmp_path, few, only=["again", "order", "mutation"]))
    assert [line.grade for line in results["order"].lines] == ["error"]
    assert "exit code 9" in results["order"].lines[0].text
    assert [results[name].lines[0].grade for name in ("again", "mutation")] == ["good", "good"]


def test_checks_at_the_same_time_say_the_same(clips: list[Clip], tmp_path: Path) -> None:
    checks, found = ["distinct", "again", "processes", "steady", "level", "mutation"], []
    for jobs in (1, 3):
        (folder := tmp_path / str(jobs)).mkdir()
        results = dict(breaks(stub("motion", "frames"), clips, folder, Limits(60), only=checks, jobs=jobs))
        found.append({name: [replace(line, looks=()) for line in of.lines] for name, of in results.items()})
    assert found[0] == found[1] and set(found[0]) == set(checks)


def test_checks_that_run_end_where_the_audit_does(clips: list[Clip], tmp_path: Path) -> None:
    target, checks = stub("waits_for_one_frame", "frames"), ["one-frame", "again"]
    running = breaks(target, clips, tmp_path, Limits(500), only=checks, jobs=2)
    assert next(running)[0] == "again"
    start = time.monotonic()
    running.close()
    assert time.monotonic() - start < 300  # the call would take 600 s


def test_bench_without_any_score(clips: list[Clip], tmp_path: Path) -> None:
    with pytest.raises(NotRunError, match="scores none of 5 clips"):
        Bench(stub("refuses_mp4_alone", "frames"), clips[:5], tmp_path, Limits(60), 0)
