"""Ten faults of scorers in use are each found by name, and a scorer that is well has none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from vmmetrics.alignment.audit.breaks import CHECKS, breaks
from vmmetrics.alignment.audit.called import function_of
from vmmetrics.alignment.audit.calls import Limits
from vmmetrics.alignment.audit.effects import Effects
from vmmetrics.alignment.audit.lines import Line
from vmmetrics.alignment.audit.target import Target
from vmmetrics.alignment.probe.cases import Plan
from vmmetrics.alignment.probe.session import measure
from vmmetrics.clip import Clip
from vmmetrics.video.encoding import to_ticks, write_playable

HERE = Path(__file__).parent
SLOW = {"huge"}  # 4K; the scorer that is well is asked once


def planted(name: str, *takes: str) -> Target:
    return Target("function", f"planted:{name}", takes, name, higher_is_better={"": True}, origin=str(HERE))


def found(target: Target, clips: Sequence[Clip], folder: Path, *only: str) -> dict[str, list[Line]]:
    results = breaks(target, clips, folder, Limits(60), only=only or None)
    return {name: list(result.lines) for name, result in results}


FAULTS = [
    pytest.param("made_up_rate", ["frames"], "rate", "a rate is made up", id="1: a rate of 2.0 where none is given"),
    pytest.param("list_as_clips", ["frames", "list"], "ways", "another score: list", id="2: frames of a list as clips"),
    pytest.param("list_as_channels_first", ["frames", "list"], "ways", "another score: list", id="2: list as C, H, W"),
    pytest.param("constant", ["path"], "distinct", "the same for every clip", id="3: one score for all"),
    pytest.param("sorted_batch", ["paths"], "together", "another score", id="5: scores in the order of names"),
    pytest.param("sentinel", ["path"], "no-video", "scores a broken file", id="6: -1 for no video"),
    pytest.param("sentinel", ["path"], "cut", "scores a broken file", id="6: -1 for a cut file"),
    pytest.param("zero_for_failures", ["frames"], "one-frame", "always 0", id="6: 0 for one frame"),
    pytest.param("blue_for_red", ["frames"], "channel-order", "takes red for blue", id="7: BGR taken for RGB"),
    pytest.param("floats_as_levels", ["frames", "floats"], "ways", "another score: floats", id="8: floats as 0 to 255"),
    pytest.param("first_frames", ["path"], "frames-read", "the last are not read", id="9: eight frames of a file"),
    pytest.param("first_frames", ["frames"], "frames-read", "the last are not read", id="9: eight frames of an array"),
    pytest.param("first_frames", ["path"], "long-clips", "the last are not read", id="9: eight frames of a long clip"),
    pytest.param("normalised_batch", ["paths"], "together", "another score", id="10: the largest of a batch is 1"),
]


@pytest.mark.parametrize(("scorer", "takes", "check", "verdict"), FAULTS)
def test_fault_is_named(
    scorer: str, takes: list[str], check: str, verdict: str, clips: list[Clip], tmp_path: Path
) -> None:
    lines = found(planted(scorer, *takes), clips, tmp_path, check)[check]
    assert [(line.grade, line.score in (scorer, None)) for line in lines] == [("bad", True)]
    assert lines[0].verdict.startswith(verdict)


@pytest.mark.parametrize("takes", ["path frames floats list", "frames", "floats"])
@pytest.mark.slow
def test_no_bad_line_of_a_scorer_that_is_well(takes: str, clips: list[Clip], tmp_path: Path) -> None:
    only = [check.name for check in CHECKS if takes.startswith("path") or check.name not in SLOW]
    lines = found(planted("healthy", *takes.split()), clips, tmp_path, *only)
    assert lines.keys() == set(only)
    assert [line for of in lines.values() for line in of if line.grade in ("bad", "error", "open")] == []
    assert sum(bool(of) for of in lines.values()) > (25 if takes.startswith("path") else 15)


def test_no_bad_line_of_batches_that_are_well(clips: list[Clip], tmp_path: Path) -> None:
    lines = found(planted("healthy_batch", "paths"), clips, tmp_path, "together", "broken-member", "cut", "same-name")
    assert [line.grade for of in lines.values() for line in of] == ["good"] * 4


@pytest.mark.slow
def test_wrong_sign_is_seen(clips: list[Clip], tmp_path: Path) -> None:
    """4: the scores of a scorer that sees three defects, times -1."""
    paths = []
    for clip in clips:
        paths.append(tmp_path / clip.name)
        write_playable(paths[-1], clip.frames, to_ticks(clip.timestamps), clip.fps, "test")
    plan = Plan(
        defects=("stutter", "drop", "shuffle"), strengths=(0.5, 1.0), invariances=("mirror",),
        harmless_strengths=(1.0,), rates=False,
    )  # fmt: skip
    verdicts = {}
    for name in ("smooth", "wrong_sign"):
        target = planted(name, "path")
        lines, _ = measure(paths, function_of(target, Limits(60)), plan=plan, out=tmp_path / name)
        card = Effects(lines, target, plan, 7).all().lines
        verdicts[name] = {line.check: (line.grade, line.verdict.partition(" from")[0]) for line in card}
    seen = {"stutter": ("good", "noticed"), "shuffle": ("good", "noticed")}
    assert verdicts["smooth"].items() >= seen.items()
    assert verdicts["wrong_sign"].items() >= dict.fromkeys(seen, ("bad", "better")).items()
