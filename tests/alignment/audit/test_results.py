"""Audit by results: the same lines as by calls, and planted faults of scorers that run elsewhere."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.alignment.audit.audit import audit
from vmmetrics.alignment.audit.card import Card
from vmmetrics.alignment.audit.lines import Line
from vmmetrics.alignment.audit.plan import AuditPlan
from vmmetrics.alignment.audit.results import CLIPS, HARD, Results, make_clips
from vmmetrics.alignment.audit.target import target_of
from vmmetrics.alignment.probe.cases import Plan
from vmmetrics.cli.main import main
from vmmetrics.errors import SetupError, VMMetricsError
from vmmetrics.video import read_clip

SCORER = """
import numpy as np
from vmmetrics.video import read_clip

def motion(path):
    clip = read_clip(path)
    if len(clip.frames) < 2:
        raise ValueError("one frame")
    return float(np.abs(np.diff(clip.frames.astype(float), axis=0)).mean() * clip.fps)
"""
BREAKS = ("distinct", "frames-read", "long-clips", "channel-order", "rate", "fade", "grey", "names", "containers",
          "no-video", "cut", "one-frame")  # fmt: skip
PLAN = AuditPlan(
    probe=Plan(defects=("blur", "stutter"), strengths=(0.5, 1.0), invariances=("reencode", "brightness"),
               harmless_strengths=(0.5, 1.0), rates=False),
    only=("blur", "stutter", "reencode", "brightness", "frozen", *BREAKS, "again", "memory"), jobs=0, limit=6,
)  # fmt: skip


def motion(path: Path) -> float:
    clip = read_clip(path)
    if len(clip.frames) < 2:
        raise ValueError("one frame")
    return float(np.abs(np.diff(clip.frames.astype(float), axis=0)).mean() * clip.fps)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("made") / "clips of an audit"
    made = make_clips(out, plan=PLAN)
    files = [path for path in out.rglob("*") if path.is_file() and path.name != "manifest.json"]
    assert made == {path.relative_to(out).as_posix(): path.stat().st_size for path in files}
    assert len({path.name for path in files}) == len(files)
    return out


@pytest.fixture(scope="module")
def scores(folder: Path) -> Mapping[str, float]:
    """Scores by path of the files that a healthy scorer takes."""
    found = {}
    for path in sorted([*(folder / CLIPS).iterdir(), *(folder / HARD).iterdir()]):
        try:
            found[str(path)] = motion(path)
        except (VMMetricsError, ValueError):
            continue
    return found


def run(*arguments: object) -> int:
    try:
        main(list(map(str, arguments)))
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def table(path: Path, scores: Mapping[str, float]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("file", "motion"), *((Path(name).name, repr(v)) for name, v in scores.items())])
    return path


def read(folder: Path, results: Path, out: Path, *only: str, **more: Any) -> Card:
    found = Results(folder, [results], **more)
    plan = found.only(only) if only else found.plan
    return audit(found.target, out, clips=found.clips, plan=plan, scored_files=found)


def lines(card: Card) -> dict[str, Line]:
    (score,) = card.scores
    return {f"{line.part} {line.check}": line for line in score.lines}


def said(line: Line) -> tuple[object, ...]:
    return line.part, line.grade, line.verdict, line.clips, line.expected


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> Card:
    folder = tmp_path_factory.mktemp("called")
    (folder / "planted_scorer.py").write_text(SCORER)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        target = target_of("planted_scorer:motion", takes=("path",), higher_is_better=True)
        return audit(target, folder / "card", plan=PLAN)


@pytest.mark.parametrize("form", ["table", "stems", "vbench"])
def test_results_say_what_calls_say(
    folder: Path, scores: Mapping[str, float], called: Card, tmp_path: Path, form: str
) -> None:
    if form != "vbench":
        named = scores if form == "table" else {str(Path(name).with_suffix("")): v for name, v in scores.items()}
        results = table(tmp_path / "scores.csv", named)
    else:
        results = tmp_path / "it_eval_results.json"
        entries = [{"video_path": name, "video_results": value} for name, value in scores.items()]
        results.write_text(json.dumps({"motion": [1.0, entries]}))
    ours, theirs = lines(read(folder, results, tmp_path / "card")), lines(called)
    assert set(ours) == {key for key, line in theirs.items() if key != "breaks again"}
    for key, line in ours.items():
        assert said(line) == said(theirs[key]), key
        for figure in ("effect", "low", "high"):
            assert getattr(line, figure) == pytest.approx(getattr(theirs[key], figure)), key
        if line.verdict not in ("refused", "no score"):
            assert line.text == theirs[key].text
    assert {line.part for line in ours.values()} == {"sees", "ignores", "fooled", "breaks"}


def test_what_files_cannot_show_is_not_tried(folder: Path, scores: Mapping[str, float], tmp_path: Path) -> None:
    card = read(folder, table(tmp_path / "scores.csv", scores), tmp_path / "card", "again", "memory", "cut")
    left = {entry.check: entry.why for entry in card.not_tried}
    assert left["again"] == left["memory"] == "results hold one score a file"
    assert "cut" not in left


def test_a_scorer_that_loses_names_with_dots(folder: Path, scores: Mapping[str, float], tmp_path: Path) -> None:
    cut = {name.partition(".")[0]: value for name, value in scores.items()}
    card = read(folder, table(tmp_path / "s.csv", cut), tmp_path / "card", "names")
    of_names = [line for line in card.scores[0].lines if line.check == "names"]
    assert [line.grade for line in of_names] == ["bad", "good"]
    assert "two.dots.v2.mp4" in of_names[0].text and "with space.mp4" not in of_names[0].text


def test_a_scorer_that_gives_broken_files_nothing(folder: Path, scores: Mapping[str, float], tmp_path: Path) -> None:
    everything = {str(path): 0.0 for path in (folder / HARD).iterdir()} | dict(scores)
    results = table(tmp_path / "s.csv", everything)
    said = lines(read(folder, results, tmp_path / "card", "no-video", "cut", "one-frame"))
    assert said["breaks no-video"].verdict == said["breaks cut"].verdict == "scores a broken file"
    assert said["breaks no-video"].grade == said["breaks cut"].grade == said["breaks one-frame"].grade == "bad"


def test_a_constant(folder: Path, scores: Mapping[str, float], tmp_path: Path) -> None:
    said = lines(
        read(
            folder, table(tmp_path / "s.csv", dict.fromkeys(scores, 0.5)), tmp_path / "card", "distinct", "blur", "rate"
        )
    )
    assert said["breaks distinct"].verdict == "the same for every clip"
    assert said["sees blur"].verdict == "ignored"
    assert said["breaks rate"].verdict == "does not use the frame rate"


def test_rows_that_are_missing(folder: Path, scores: Mapping[str, float], tmp_path: Path) -> None:
    left = {name: v for name, v in scores.items() if not Path(name).name.startswith(("blur-1-", "rate-"))}
    card = read(folder, table(tmp_path / "s.csv", left), tmp_path / "card", "blur", "stutter")
    gone = sum(Path(name).name.startswith(("blur-1-", "rate-")) for name in scores)
    total = sum(1 for path in folder.rglob("*") if path.is_file()) - 1
    assert card.target["notes"][0] == f"{total - len(scores) + gone} of {total} files have no score"
    assert lines(card)["sees stutter"].clips == 6
    assert "at strength 0.5" in lines(card)["sees blur"].text


def test_files_of_a_kind_that_is_not_read(folder: Path, scores: Mapping[str, float], tmp_path: Path) -> None:
    read_alone = {name: value for name, value in scores.items() if name.endswith(".mp4")}
    said = lines(read(folder, table(tmp_path / "s.csv", read_alone), tmp_path / "card", "fade", "containers"))
    assert said["breaks fade"].grade == "good"  # files that keep RGB are .mp4 as well
    assert said["breaks containers"].verdict == "refuses, and says so"


def test_hard_files_that_were_not_scored_are_not_called_refused(
    folder: Path, scores: Mapping[str, float], tmp_path: Path
) -> None:
    easy = {name: value for name, value in scores.items() if Path(name).parent.name == CLIPS}
    card = read(folder, table(tmp_path / "s.csv", easy), tmp_path / "card", "no-video", "names")
    left = {entry.check: entry.why for entry in card.not_tried}
    assert left["no-video"] == left["names"] == "no file of hard is among the results"


def test_signs_turned_by_the_reader_are_turned_back(folder: Path, scores: Mapping[str, float], tmp_path: Path) -> None:
    results = table(tmp_path / "s.csv", scores)
    card = read(folder, results, tmp_path / "card", "blur", lower=("motion",))
    assert card.scores[0].higher_is_better is False
    log = tmp_path / "warping_error_record.txt"
    log.write_text("".join(f"Vid: {Path(n).name}, Current warping_error: {v}, avg: 0\n" for n, v in scores.items()))
    found = Results(folder, [log])
    assert found.target.direction("warping_error") is False
    assert min(min(line["scores"].values()) for line in found.lines if line.get("scores")) >= 0


def test_another_versions_manifest_is_refused(
    folder: Path, scores: Mapping[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    content = json.loads((folder / "manifest.json").read_text())
    content["produced_by"]["vmmetrics"] = "0.0.1"
    (other / "manifest.json").write_text(json.dumps(content))
    results = table(tmp_path / "s.csv", scores)
    assert run("audit", "read", results, "--clips", other, "--out", tmp_path / "card") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "0.0.1" in told and "make the clips again" in told


def test_clips_that_changed_are_refused(scores: Mapping[str, float], folder: Path, tmp_path: Path) -> None:
    source = next((folder / CLIPS).glob("clip-001.mp4"))
    own = tmp_path / "own.mp4"
    shutil.copyfile(source, own)
    made = tmp_path / "made"
    plan = AuditPlan(parts=("breaks",), only=("distinct",))
    make_clips(made, clips=[own], plan=plan)
    results = table(tmp_path / "s.csv", {"clip-001.mp4": 1.0})
    assert Results(made, [results]).scored == 1
    shutil.copyfile(next((folder / CLIPS).glob("clip-002.mp4")), own)
    with pytest.raises(SetupError, match=r"own\.mp4 changed"):
        Results(made, [results])


def test_results_of_other_files_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"No file of .* is among the results"):
        Results(folder, [table(tmp_path / "s.csv", {"elsewhere.mp4": 1.0})])


def test_the_commands(scores: Mapping[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, out = tmp_path / "made", tmp_path / "card"
    assert run("audit", "make", made, "--parts", "breaks", "--checks", "distinct,one-frame", "--limit", 5) == 0
    told = capsys.readouterr().err
    assert "14 files" in told and "vmmetrics audit read RESULTS" in told
    assert run("audit", "make", made) == 2
    assert "holds other files" in capsys.readouterr().err
    results = table(tmp_path / "s.csv", {str(path): motion(path) for path in (made / CLIPS).iterdir()})
    assert run("audit", "read", results, "--clips", made, "--checks", "distinct", "--out", out, "--format", "json") == 0
    (score,) = json.loads(capsys.readouterr().out)["scores"]
    assert [line["check"] for line in score["lines"]] == ["distinct"]
    assert "--checks distinct" in score["lines"][0]["repeat"]
    assert (out / "index.html").is_file()
