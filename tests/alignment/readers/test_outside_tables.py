"""Tables as others write them: read right, or refused with the cause and the option that decides."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.alignment.readers.healthy_tables import DOCUMENTED, NEW, plainly
from tests.alignment.readers.outside_kinds import EITHER, MAPPED, REFUSED, RIGHT
from tests.alignment.readers.outside_tables import (
    CLIPS,
    QUALITY,
    SMOOTHNESS,
    Kind,
    agreement,
    check,
    json_lines,
    rated,
    table,
    write,
)
from vmmetrics.alignment import Study, read_study
from vmmetrics.alignment.study import with_averages
from vmmetrics.cli.main import main
from vmmetrics.errors import SetupError


class Answer(NamedTuple):
    """What ``vmmetrics align`` did.

    Attributes:
        code: Exit code.
        study: What it read; None where it refused.
        printed: Standard output.
        message: Standard error in one line.
    """

    code: int
    study: Study | None
    printed: str
    message: str


Align = Callable[..., Answer]
LETTERS = "abcdefghijklmnopqrstuvwx"  # names of clips that tell no model and no prompt


@pytest.fixture
def align(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Align:
    """Run the command up to what it computes from the study."""
    studies: list[Study] = []

    def stop(study: Study, **_: object) -> None:
        studies.append(study)
        sys.exit(0)

    monkeypatch.setattr("vmmetrics.alignment.study_report.align", stop)
    monkeypatch.setenv("COLUMNS", "500")

    def run(*arguments: object) -> Answer:
        studies.clear()
        code = 0
        try:
            main(["align", *map(str, arguments)])
        except SystemExit as end:
            code = int(end.code or 0)
        shown = capsys.readouterr()
        paths = sorted(map(str, arguments), key=len, reverse=True)  # a file's name is no word of the message
        message = shown.err.replace("│", " ")
        for path in paths:
            message = message.replace(path, "FILE") if "/" in path else message
        message = " ".join(message.split())
        return Answer(code, studies[0] if studies else None, shown.out, message)

    return run


def by_name(kinds: list[Kind]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("kind", kinds, ids=[kind.file for kind in kinds])


def read(align: Align, kind: Kind, folder: Path, options: tuple[str, ...] = ()) -> Answer:
    if kind.needs:
        pytest.importorskip(kind.needs)
    return align(*write(kind, folder), *options)


@by_name([*DOCUMENTED, *NEW])
def test_healthy(align: Align, kind: Kind, tmp_path: Path) -> None:
    answer = read(align, kind, tmp_path)
    assert answer.study is not None, answer.message
    check(kind, answer.study)


@by_name(RIGHT)
def test_read_right(align: Align, kind: Kind, tmp_path: Path) -> None:
    answer = read(align, kind, tmp_path)
    assert answer.study is not None, answer.message
    check(kind, answer.study)


@by_name(REFUSED)
def test_refused(align: Align, kind: Kind, tmp_path: Path) -> None:
    assert_refused(kind, read(align, kind, tmp_path))


@by_name(EITHER)
def test_right_or_refused(align: Align, kind: Kind, tmp_path: Path) -> None:
    answer = read(align, kind, tmp_path)
    if answer.study is None:
        assert_refused(kind, answer)
    else:
        check(kind, answer.study)


@by_name([kind for kind in (*REFUSED, *EITHER, *MAPPED) if kind.options])
def test_read_with_the_option(align: Align, kind: Kind, tmp_path: Path) -> None:
    answer = read(align, kind, tmp_path, kind.options)
    assert answer.study is not None, answer.message
    check(kind, answer.study)


def test_a_dimension_is_turned_in_python_too(tmp_path: Path) -> None:
    kind = next(kind for kind in REFUSED if kind.file == "severity.csv")
    scores, ratings = write(kind, tmp_path)
    check(kind, read_study(scores, ratings, lower=("flicker_severity", "jitter_annoyance")))
    with pytest.raises(SetupError, match="jitter_annoyance"):
        read_study(scores, ratings, lower=("flicker_severity",))


def assert_refused(kind: Kind, answer: Answer) -> None:
    assert answer.study is None, (
        f"read as {answer.study and {name: r.shape for name, r in answer.study.ratings.items()}}"
    )
    assert answer.code != 0 and not answer.printed.strip()
    assert "Traceback" not in answer.message
    missing = [word for word in kind.refused if word.casefold() not in answer.message.casefold()]
    assert not missing, f"{missing} not in: {answer.message}"


@pytest.mark.parametrize(
    ("option", "named"),
    [("colour=clip", "colour"), ("clip=colour", "colour"), ("clip", "--map"), ("clip=left", "right")],
)
def test_a_map_that_cannot_be(align: Align, option: str, named: str, tmp_path: Path) -> None:
    kind = Kind("t.csv", table(("clip", "rater", "smoothness"), plainly), SMOOTHNESS)
    answer = read(align, kind, tmp_path, ("--map", option))
    assert answer.study is None and answer.code != 0
    assert named in answer.message


def test_dimensions_on_unlike_scales_count_alike_in_the_average(align: Align, tmp_path: Path) -> None:
    kind = next(kind for kind in RIGHT if kind.file == "unlike-scales.csv")
    study = read(align, kind, tmp_path).study
    assert study is not None
    averaged, _ = with_averages(study)
    average = averaged.mean_rating("average")
    one, other = (agreement(average, study.mean_rating(name)) for name in ("smoothness", "coherence"))
    assert one == pytest.approx(other, abs=0.1)


def test_a_warning_where_people_run_against_three_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noise = 0.5 * np.random.default_rng(1).normal(size=(24, 4))
    rows = [(letter, *row) for letter, row in zip(LETTERS, QUALITY[:, None] + noise, strict=True)]
    (tmp_path / "s.csv").write_text(table(("clip", "ours", "theirs", "other", "last"), rows))
    (tmp_path / "r.csv").write_text(
        table(("clip", "rater", "quality"), rated(lambda c, r, n: (LETTERS[CLIPS.index(c)], r, 6 - n)))
    )
    command = ["align", str(tmp_path / "s.csv"), str(tmp_path / "r.csv"), "--resamples", "100"]
    with suppress(SystemExit):
        main(command)
    shown = capsys.readouterr()
    assert "--lower-is-better" in shown.out + shown.err
    with suppress(SystemExit):
        main([*command, "--lower-is-better", "quality"])
    shown = capsys.readouterr()
    assert "--lower-is-better" not in shown.out + shown.err


# The side of the scores


def test_vbench_scores_beside_ratings_of_models_and_prompts(align: Align, tmp_path: Path) -> None:
    clips = [{"video_path": f"./sampled/{c.model}/{c.prompt}-0.mp4", "video_results": q}
             for c, q in zip(CLIPS, QUALITY.tolist(), strict=True)]  # fmt: skip
    scores = tmp_path / "mine_eval_results.json"
    scores.write_text(json.dumps({"motion_smoothness": [0.5, clips]}))
    ratings = tmp_path / "r.csv"
    ratings.write_text(
        table(("model", "prompt", "rater", "smoothness"), rated(lambda c, r, n: (c.model, c.prompt, r, n)))
    )
    study = align(scores, ratings).study
    assert study is not None
    kind = Kind("", "", SMOOTHNESS, scored=lambda c: next(n for n in study.clips if f"{c.model}/{c.prompt}-0" in n))
    check(kind, study)
    order = [study.clips.index(kind.scored(clip)) for clip in CLIPS]
    assert agreement(next(iter(study.scores.values()))[order], QUALITY) > 1 - 1e-9


def test_a_log_of_lmms_eval_as_scores(align: Align, tmp_path: Path) -> None:
    rows = [{"doc_id": i, "target": "", "doc": {"video": c.name, "question": "rate"}, "filtered_resps": [str(q)],
             "motion_score": q, "doc_hash": "ab"}
            for i, (c, q) in enumerate(zip(CLIPS, QUALITY.tolist(), strict=True))]  # fmt: skip
    kind = Kind("r.csv", table(("clip", "rater", "smoothness"), plainly), SMOOTHNESS, refused=("doc",))
    _, ratings = write(kind, tmp_path)
    scores = tmp_path / "samples_motionq.jsonl"
    scores.write_text(json_lines(rows))
    answer = align(scores, ratings)
    if answer.study is None:
        assert_refused(kind, answer)
        return
    check(kind, answer.study)
    assert list(answer.study.scores) == ["motion_score"]
    order = [answer.study.clips.index(clip.name) for clip in CLIPS]
    assert agreement(answer.study.scores["motion_score"][order], QUALITY) > 1 - 1e-9
