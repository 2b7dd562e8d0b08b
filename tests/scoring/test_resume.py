from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.scoring.api import score
from vmmetrics.scoring.directory import RunDirectory
from vmmetrics.scoring.engine import InProcess
from vmmetrics.scoring.records import read_events, read_records
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.tasks import Task
from vmmetrics.utils.storage.journal import Journal

pytestmark = pytest.mark.usefixtures("fake_suite")


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
    """The tasks that were really worked on."""
    seen: list[tuple[str, tuple[str, ...]]] = []
    submit = InProcess.submit

    def spy(self: InProcess, task: Task, following: Task | None = None) -> None:
        seen.append((task.clip, task.metrics))
        submit(self, task, following)

    monkeypatch.setattr(InProcess, "submit", spy)
    return seen


def lines(run: Path, name: str = "scores.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / name).read_text().splitlines()]


def values(table: Table) -> dict[str, Any]:
    return {r.clip: (dict(r.scores), dict(r.missing), dict(r.errors), r.error) for r in table}


def test_a_run_directory_holds_what_was_promised(make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips("one/a", "one/noone", "two/a")
    table = score(clips, out=tmp_path / "run")
    line = lines(tmp_path / "run")[0]
    assert line["clip"] == "one/a.npy"
    assert line["model"] == "one"
    assert line["path"] == str(clips / "one" / "a.npy")
    assert len(line["sha256"]) == 64
    assert line["scores"] == table[0].scores
    assert set(line["missing"]) == {"cas"}
    assert line["error"] is None
    assert line["errors"] == {}
    assert line["seconds"] > 0
    assert (line["preset"], line["protocol"]) == ("embedded", "vmmetrics")
    assert table[1].missing["ois"] == "no person"
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["configuration"]["weights"] == {"fake": "00ff"}
    assert run["configuration"]["reading"]["assume_fps"] == 8
    assert {"vmmetrics", "av", "pillow"} <= run["configuration"]["versions"].keys()
    assert {"numpy", "python"} <= run["sessions"][0]["versions"].keys()
    assert run["sessions"][0]["machine"]["cpus"] >= 1
    event = read_events(tmp_path / "run", table[0])["mss"]["events"][0]
    assert event == {"frames": [0, 1], "reason": "made up", "box": [0, 0, 4, 4], "magnitude": 0.5, "threshold": 0.25}


def test_a_second_start_does_nothing_twice(make_clips: Any, tmp_path: Path, scored: list[Any]) -> None:
    clips = make_clips("a", "b")
    first = score(clips, out=tmp_path / "run")
    again = score(clips, out=tmp_path / "run")
    assert len(scored) == 2
    assert values(again) == values(first)
    assert len(lines(tmp_path / "run")) == 2


def test_a_changed_clip_is_scored_again(make_clips: Any, tmp_path: Path, scored: list[Any]) -> None:
    first = score(make_clips("a", "b"), out=tmp_path / "run")
    make_clips("a", value=90)
    again = score(tmp_path / "clips", out=tmp_path / "run")
    assert [clip for clip, _ in scored] == ["a.npy", "b.npy", "a.npy"]
    assert again[0].scores["pas"] > first[0].scores["pas"]
    assert values(Table(read_records(tmp_path / "run"))) == values(again)


def test_added_metrics_compute_only_themselves(make_clips: Any, tmp_path: Path, scored: list[Any]) -> None:
    clips = make_clips("a", "b")
    score(clips, metrics=("pas",), out=tmp_path / "run")
    table = score(clips, out=tmp_path / "run")
    assert scored[2:] == [(name, ("cas", "mss", "ois", "tcs")) for name in ("a.npy", "b.npy")]
    assert values(table) == values(score(clips))
    assert json.loads((tmp_path / "run" / "run.json").read_text())["metrics"] == ["cas", "mss", "ois", "pas", "tcs"]
    assert set(read_events(tmp_path / "run", table[0])) == {"cas", "mss", "ois", "pas", "tcs"}


def test_another_prompt_or_subject_is_another_input(make_clips: Any, tmp_path: Path, scored: list[Any]) -> None:
    clips = make_clips("a", "b")
    score(clips, out=tmp_path / "run")
    (clips / "b.txt").write_text("two dogs run")
    table = score(clips, out=tmp_path / "run")
    assert [clip for clip, _ in scored[2:]] == ["b.npy"]
    assert table[1].prompt == "two dogs run"
    assert table[1].subject is not None
    assert table[1].subject["noun"] == "dogs"
    score(clips, subject="a cat", out=tmp_path / "run")
    assert [clip for clip, _ in scored[3:]] == ["a.npy", "b.npy"]


def test_what_failed_is_tried_once_per_start(
    make_clips: Any, tmp_path: Path, scored: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = make_clips("a", "badmss", "raise")
    (clips / "empty.mp4").touch()
    table = score(clips, out=tmp_path / "run")
    assert [r.clip for r in table.failed] == ["badmss.npy", "empty.mp4", "raise.npy"]
    assert table[1].errors == {"mss": "ValueError: broken"}
    assert set(table[1].scores) == {"ois", "pas", "tcs"}
    assert table[2].error == "The file is empty"
    assert table[3].error is not None
    assert table[3].error.startswith("RuntimeError: something unforeseen (fake_suite.py:")
    monkeypatch.setenv("FAKE_SUITE_MENDED", "1")
    del scored[:]
    again = score(clips, out=tmp_path / "run")
    assert scored == [("badmss.npy", ("mss",)), ("empty.mp4", ("cas", "mss", "ois", "pas", "tcs")),
                      ("raise.npy", ("cas", "mss", "ois", "pas", "tcs"))]  # fmt: skip
    assert set(again[1].scores) == {"mss", "ois", "pas", "tcs"}
    assert again[1].errors == {}


@pytest.mark.parametrize("change", ["protocol", "assume_fps", "max_memory", "weights", "version"])
def test_another_configuration_is_refused_by_name(
    change: str, make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fake_suite import FakeSuite

    clips, options = make_clips("a"), {}
    score(clips, out=tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_bytes()
    if change == "weights":
        monkeypatch.setattr(FakeSuite, "weights", {"fake": "ffff"})
    elif change == "version":
        monkeypatch.setattr("vmmetrics.scoring.settings.decisive_versions", lambda: {"vmmetrics": "9"})
    else:
        options = {change: {"protocol": "vmbench", "assume_fps": 9.0, "max_memory": 10**6}[change]}
    with pytest.raises(SetupError, match=change):
        score(clips, out=tmp_path / "run", **options)
    assert (tmp_path / "run" / "run.json").read_bytes() == before
    assert len(lines(tmp_path / "run")) == 1


@pytest.mark.parametrize("name", ["scores.jsonl", "events.jsonl"])
def test_a_torn_tail_is_cut_and_its_clip_scored_again(
    name: str, make_clips: Any, tmp_path: Path, scored: list[Any]
) -> None:
    clips, run = make_clips("a", "b"), tmp_path / "run"
    whole = score(clips, out=run)
    if name == "events.jsonl":  # killed between the two files: the scores line never came to be
        (run / "scores.jsonl").write_bytes((run / "scores.jsonl").read_bytes().splitlines(keepends=True)[0])
    (run / name).write_bytes((run / name).read_bytes()[:-9])
    del scored[:]
    assert values(score(clips, out=run)) == values(whole)
    assert [clip for clip, _ in scored] == ["b.npy"]
    assert all(line["clip"] in ("a.npy", "b.npy") for line in lines(run) + lines(run, "events.jsonl"))


def test_a_damaged_line_costs_its_clip_alone(make_clips: Any, tmp_path: Path, scored: list[Any]) -> None:
    clips, run = make_clips("a", "b"), tmp_path / "run"
    whole = score(clips, out=run)
    _, second = (run / "scores.jsonl").read_bytes().splitlines(keepends=True)
    (run / "scores.jsonl").write_bytes(b"\x00" * 40 + b"\n" + second)
    del scored[:]
    warned: list[str] = []

    class Ear:
        def begin(self, total: int, settled: int) -> None: ...
        def advance(self, record: object) -> None: ...
        def warn(self, warnings: list[str]) -> None:
            warned.extend(warnings)

    assert values(score(clips, out=run, listener=Ear())) == values(whole)
    assert [clip for clip, _ in scored] == ["a.npy"]
    assert warned == [
        "scores.jsonl line 1 is damaged and was skipped (not JSON: Expecting value: line 1 column 1 (char 0)); "
        "its clip is scored again"
    ]


def test_a_folder_of_other_things_is_not_taken_for_a_run(make_clips: Any, tmp_path: Path) -> None:
    clips = make_clips("a")
    with pytest.raises(SetupError, match="no scores"):
        score(clips, out=clips)
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="Cannot write scores"):
        score(clips, out=tmp_path / "file")


def test_one_process_opens_a_directory_once(tmp_path: Path) -> None:
    with RunDirectory(tmp_path / "run", {}, {}), pytest.raises(SetupError, match="already open"):
        RunDirectory(tmp_path / "run", {}, {})
    RunDirectory(tmp_path / "run", {}, {}).close()


def test_a_clip_written_to_while_scored_is_an_error(
    make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fake_suite import FakeSuite

    clips = make_clips("a")
    score_clip = FakeSuite.score_clip

    def meddle(self: FakeSuite, clip: Any) -> Any:
        np.save(clips / "a.npy", np.zeros((5, 8, 8, 3), np.uint8))
        return score_clip(self, clip)

    monkeypatch.setattr(FakeSuite, "score_clip", meddle)
    assert "changed while" in (score(clips)[0].error or "")


def test_what_no_file_can_hold_is_an_error_of_its_clip(tmp_path: Path) -> None:
    frames = np.zeros((4, 16, 24, 3), np.uint8)
    tags: list[dict[str, Any]] = [{}, {"speed": float("nan")}, {"speed": np.float32(1)}, {"speed": 1e300}, {}]
    clips = [Clip(frames + n, np.arange(4) / 8, 8.0, f"clip{n}\ud800", tags=tag) for n, tag in enumerate(tags)]
    for _ in range(2):
        table = score(clips, out=tmp_path / "run")
        assert [record.error is None for record in table] == [True, False, False, False, True]
        assert "tags.speed: expected text or a finite number" in (table[1].error or "")
    assert len(read_records(tmp_path / "run")) == 5


def test_a_journal_that_cannot_be_read_is_said(make_clips: Any, tmp_path: Path) -> None:
    clips, run = make_clips("a"), tmp_path / "run"
    score(clips, out=run)
    (run / "scores.jsonl").unlink()
    (run / "scores.jsonl").mkdir()
    with pytest.raises(SetupError, match=r"Cannot write .*scores.jsonl: Not a regular file"):
        score(clips, out=run)
    with pytest.raises(SetupError, match=r"Cannot read .*scores\.jsonl: Not a regular file"):
        read_records(run)


def test_of_a_full_disk_the_first_message_counts(
    make_clips: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips, run = make_clips("a", "b"), tmp_path / "run"

    def full(self: Journal, lines: Any) -> None:
        raise SetupError("Cannot write scores.jsonl: No space left on device")

    @contextmanager
    def fuller(path: Path) -> Iterator[None]:
        raise SetupError(f"Cannot write {path}: No space left on device")
        yield

    with monkeypatch.context() as patch:
        patch.setattr(Journal, "write", full)
        patch.setattr("vmmetrics.scoring.export.writing", fuller)
        patch.setattr("vmmetrics.scoring.directory.write_json", lambda path, value: path.write_text(json.dumps(value)))
        with pytest.raises(SetupError, match=r"Cannot write scores\.jsonl"):
            score(clips, out=run)
    with monkeypatch.context() as patch:
        patch.setattr("vmmetrics.scoring.export.writing", fuller)
        patch.setattr("vmmetrics.scoring.directory.write_json", lambda path, value: path.write_text(json.dumps(value)))
        with pytest.raises(SetupError, match=r"Cannot write .*scores\.csv"):
            score(clips, out=run)
    assert len(read_records(run)) == 2  # nothing is lost
    assert len(score(clips, out=run)) == 2
