from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import vmmetrics
from tests.bad_inputs import write_video
from vmmetrics import SetupError, filter_clips, score
from vmmetrics.functional.tripwires import UNITS
from vmmetrics.scoring.engine import InProcess
from vmmetrics.scoring.filter_suite import MEASURES, FilterSuite
from vmmetrics.scoring.filtering import ABOUT, DECISIONS, FACTS, KEPT, Decision, Filtered, condition, decide
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.tasks import Task
from vmmetrics.video.encoding import write_h264


def ground(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    layers = [cv2.GaussianBlur(rng.normal(0, 1, (200, 320)).astype(np.float32), (0, 0), s) for s in (1.5, 4, 12)]
    grey = np.clip(128 + sum(28 * layer / layer.std() for layer in layers), 0, 255).astype(np.uint8)
    return np.repeat(grey[..., None], 3, -1)


def film(pan: float = 0.0, subject: float = 0.0, count: int = 24) -> np.ndarray:
    """Frames (T, 96, 160, 3): a pan and a square, pixels a frame."""
    back, square = ground(), ground(1)[:44, :44]
    frames = []
    for n in range(count):
        x = round(pan * n)
        frame = back[40:136, x : x + 160].copy()
        if subject:
            at = round(20 + subject * n)
            frame[24:68, at : at + 44] = square
        frames.append(frame)
    return np.stack(frames)


@pytest.fixture
def footage(tmp_path: Path) -> Path:
    folder = tmp_path / "footage"
    folder.mkdir()
    write_video(folder / "moving.mp4", film(subject=3), "libx264", "yuv420p", options={"crf": "18"})
    write_video(folder / "panned.mp4", film(pan=3), "libx264", "yuv420p", options={"crf": "18"})
    write_video(folder / "held.mp4", film(), "libx264", "yuv420p", options={"crf": "18"})
    (folder / "panned.txt").write_text("a wall")
    (folder / "broken.mp4").write_bytes(b"no film")
    np.save(folder / "single.npy", film(count=1))
    return folder


KEEP = 'amplitude > 0.05 or camera == "pan"'


def test_measures_of_known_clips() -> None:
    measured = {name: FilterSuite().score_clip(frames, fps=12).scores for name, frames in
                {"moving": film(subject=3), "panned": film(pan=3), "held": film()}.items()}  # fmt: skip
    assert measured["moving"]["amplitude"] > 0.1 > 0.01 > measured["panned"]["amplitude"]
    assert measured["panned"]["pan"] == pytest.approx(3 * 12 / 160, rel=0.1)
    assert measured["moving"]["pan"] < 0.01
    assert measured["held"]["amplitude"] == measured["held"]["pan"] == 0
    assert measured["held"]["frozen_share"] == 1
    assert measured["moving"].keys() == MEASURES.keys() > UNITS.keys()


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_batch_and_a_file_agree(tmp_path: Path, kind: str) -> None:
    frames = film(subject=3)
    path = tmp_path / "a.npy"
    np.save(path, frames)
    batch: Any = np.stack([frames, film()]).transpose(0, 1, 4, 2, 3)
    if kind == "torch":
        batch = pytest.importorskip("torch").from_numpy(batch)
    filtered = filter_clips(batch, "amplitude > 0.05", fps=8, layout="BTCHW")
    assert [decision.verdict for decision in filtered] == ["kept", "dropped"]
    alone = FilterSuite().score_clip(path, fps=8)
    assert filtered.table[0].scores == alone.scores
    assert filtered.kept == ["clip-0001[0]"]


def test_decisions_reasons_and_a_list_to_go_on_with(footage: Path, tmp_path: Path) -> None:
    filtered = filter_clips(footage, KEEP, out=tmp_path / "run")
    verdicts = {decision.clip: decision.verdict for decision in filtered}
    assert verdicts == {
        "broken.mp4": "failed", "held.mp4": "dropped", "moving.mp4": "kept", "panned.mp4": "kept",
        "single.npy": "undecided",
    }  # fmt: skip
    assert filtered.counts == {"kept": 2, "dropped": 1, "undecided": 1, "failed": 1}
    held = next(decision for decision in filtered if decision.clip == "held.mp4")
    assert held.reasons == ("amplitude > 0.05 is false: amplitude = 0", 'camera == "pan" is false: camera = "still"')
    single = next(decision for decision in filtered if decision.clip == "single.npy")
    assert single.reasons == tuple(
        f"no {name}: one frame: nothing to compare it with" for name in ("amplitude", "camera")
    )
    assert single.values["width"] == 160
    lines = [json.loads(line) for line in (tmp_path / "run" / DECISIONS).read_text().splitlines()]
    assert {line["clip"]: line["verdict"] for line in lines} == verdicts
    about = json.loads((tmp_path / "run" / "filter.json").read_text())
    assert (about["keep"], about["counts"]) == (KEEP, dict(filtered.counts))
    again = filter_clips(tmp_path / "run" / KEPT, KEEP)
    assert [decision.clip for decision in again] == ["moving.mp4", "panned.mp4"]
    assert again.counts["kept"] == 2
    assert again.table[1].prompt == "a wall"


def test_another_condition_measures_nothing_again(
    footage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filter_clips(footage, KEEP, out=tmp_path / "run")
    seen: list[str] = []
    submit = InProcess.submit

    def spy(self: InProcess, task: Task, following: Task | None = None) -> None:
        seen.append(task.clip)
        submit(self, task, following)

    monkeypatch.setattr(InProcess, "submit", spy)
    filtered = filter_clips(footage, "frozen_share == 1", out=tmp_path / "run")
    assert seen == ["broken.mp4"]  # what failed is tried once more
    assert [Path(path).name for path in filtered.kept] == ["held.mp4"]
    with pytest.raises(SetupError):
        filter_clips(footage, KEEP, out=tmp_path / "run", reference=True)  # measured otherwise
    with pytest.raises(SetupError):
        score(footage / "held.mp4", metrics=("pas",), out=tmp_path / "run")


def test_columns_hold_every_measure(footage: Path) -> None:
    table = filter_clips(footage / "moving.mp4", "cuts == 0").table
    row = table.rows()[0]
    assert {name: row[name] for name in MEASURES} == dict(table[0].scores)
    assert [row[name] for name in ("width", "height", "frames")] == [160, 96, 24]


def test_names_that_are_hostile_are_listed_and_read_back(tmp_path: Path) -> None:
    folder = tmp_path / "clips"
    for name in ("a b.npy", "new\nline.npy", "-x.npy", "#.npy", '"q".npy', "é.npy"):
        folder.mkdir(exist_ok=True)
        np.save(folder / name, film(subject=3, count=8))
    filtered = filter_clips(folder, "cuts == 0", out=tmp_path / "run")
    assert len(filtered.kept) == 6
    assert sorted(filter_clips(tmp_path / "run" / KEPT, "cuts == 0").kept) == sorted(filtered.kept)


@pytest.mark.parametrize("keep", ["amplitud > 1", "amplitude", "open('x')", "", "camera == 'dolly'"])
def test_a_wrong_condition_is_refused_before_anything_is_read(keep: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"condition|Texts"):
        filter_clips(tmp_path / "nowhere", keep)


def test_every_measure_and_fact_can_be_named() -> None:
    for name in (*MEASURES, *FACTS):
        condition(f"{name} >= 0")


def test_a_run_killed_is_resumed(tmp_path: Path) -> None:
    folder = tmp_path / "clips"
    folder.mkdir()
    for number in range(12):
        np.save(folder / f"{number:02d}.npy", film(subject=3, count=20))
    run = tmp_path / "run"
    command = [sys.executable, "-m", "vmmetrics", "filter", str(folder), "--keep", "cuts == 0", "--out", str(run),
               "--jobs", "0"]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    journal, until = run / "scores.jsonl", time.monotonic() + 60
    while time.monotonic() < until and not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    done = journal.read_bytes().count(b"\n")
    assert 2 <= done < 12
    filtered = filter_clips(folder, "cuts == 0", out=run)
    assert filtered.counts["kept"] == 12
    assert journal.read_bytes().count(b"\n") == 12
    assert len((run / DECISIONS).read_text().splitlines()) == 12


def test_a_run_without_its_summary_is_not_whole(footage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filter_clips(footage, KEEP, out=tmp_path / "run")
    before = (tmp_path / "run" / KEPT).read_bytes()

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vmmetrics.scoring.filtering.write_text", killed)  # once the others are there
    with pytest.raises(KeyboardInterrupt):
        filter_clips(footage, "frozen_share == 1", out=tmp_path / "run")
    assert (tmp_path / "run" / KEPT).read_bytes() != before
    assert not (tmp_path / "run" / ABOUT).exists()


def test_every_clip_is_decided_on_once(footage: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = filter_clips(footage, KEEP).table
    decided: list[str] = []

    def spy(record: Record, keep: Any) -> Decision:
        decided.append(record.clip)
        return decide(record, keep)

    monkeypatch.setattr("vmmetrics.scoring.filtering.decide", spy)
    filtered = Filtered(table, condition(KEEP))
    filtered.write(tmp_path)
    assert filtered.counts["kept"] == 2
    assert filtered.reasons("dropped")["amplitude > 0.05 is false"] == 1
    assert sum(filtered.reasons("failed").values()) == 1
    assert len(decided) == len(table) == 5


def test_memory_is_held_to_what_is_counted(tmp_path: Path) -> None:
    frames = np.resize(film(pan=3)[:, :48, :64], (2400, 48, 64, 3))
    write_h264(tmp_path / "a.mp4", frames, 24, {"preset": "ultrafast"})
    suite, memory = FilterSuite(), 5 * 2400 * 48 * 64
    whole, less = (suite.read(tmp_path / "a.mp4", max_memory=size) for size in (memory, memory // 2))
    assert (whole.width, whole.height) == (64, 48) > (less.width, less.height)
    flow = 60 * 48 * 64 * 60  # bytes of the pairs whose flow is held at a time
    tracemalloc.start()
    try:
        suite.score_clip(tmp_path / "a.mp4", max_memory=memory)
        assert tracemalloc.get_traced_memory()[1] < memory + flow
    finally:
        tracemalloc.stop()


def test_workers_measure_the_same(footage: Path) -> None:
    here, there = filter_clips(footage, KEEP), filter_clips(footage, KEEP, jobs=2)
    assert [dict(r.scores) for r in here.table] == [dict(r.scores) for r in there.table]
    assert here.counts == there.counts


def test_reference_frames_are_fewer_and_tell_the_same(tmp_path: Path) -> None:
    path = write_video(
        tmp_path / "b.mp4",
        film(pan=3),
        "libx264",
        "yuv420p",
        options={"crf": "18", "x264-params": "bframes=2:b-pyramid=0"},
    )
    whole, few = FilterSuite().score_clip(path), FilterSuite(reference=True).score_clip(path)
    assert any("frames decoded: those that others refer to" in note for note in few.notes)
    assert few.scores["pan"] == pytest.approx(whole.scores["pan"], rel=0.05)
    table = filter_clips(path, "duration > 0", reference=True).table
    assert table[0].fps == pytest.approx(10)
    assert table[0].frames is not None and table[0].frames < 24
    kept = filter_clips(path, "2.3 < duration < 2.45", reference=True)
    assert kept.counts["kept"] == 1


def test_damage_is_said(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", film(pan=3), "libx264", "yuv420p", options={"crf": "18"})
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
    for reference in (False, True):
        decisions: list[Any] = list(filter_clips(cut, "cuts == 0", reference=reference))
        assert decisions[0].verdict == "failed"
        assert decisions[0].reasons


def test_the_tier_of_a_suite() -> None:
    suite = vmmetrics.Suite(tier="filter")
    assert isinstance(suite, FilterSuite)
    frames = film(subject=3)
    assert suite.score_clip(frames, fps=12).scores == FilterSuite().score_clip(frames, fps=12).scores
    assert type(vmmetrics.Suite(metrics=("pas",))) is vmmetrics.Suite
    with pytest.raises(ValueError, match="'scores' or 'filter'"):
        vmmetrics.Suite(tier="fast")  # type: ignore[arg-type]


def test_a_clip_stored_lying_is_judged_upright(tmp_path: Path) -> None:
    upright = np.ascontiguousarray(film(pan=3)[:, :, :64])  # (T, 96, 64, 3): portrait
    write_video(tmp_path / "upright.mp4", upright, "libx264", "yuv420p", options={"crf": "12"})
    lying = np.ascontiguousarray(np.rot90(upright, 1, axes=(1, 2)))
    write_video(
        tmp_path / "lying.mp4", lying, "libx264", "yuv420p", options={"crf": "12"},
        prepare=lambda stream: stream.set_display_rotation(-90),
    )  # fmt: skip
    found = {decision.clip: decision for decision in filter_clips(tmp_path, "height > width")}
    one, other = found["upright.mp4"], found["lying.mp4"]
    assert (one.verdict, other.verdict) == ("kept", "kept")
    assert one.values["camera"] == other.values["camera"] == "pan"
    assert other.values["pan"] == pytest.approx(one.values["pan"], rel=0.05)
    assert (other.values["width"], other.values["height"]) == (64, 96)


def test_the_list_of_kept_clips_repeats_subject_and_tags(footage: Path, tmp_path: Path) -> None:
    about = {"clip": "moving.mp4", "prompt": "a wall", "subject": "the wall", "tags": {"skeleton": "none"}}
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps(about) + "\n")
    filter_clips(footage / "moving.mp4", "cuts == 0", prompts=prompts, out=tmp_path / "run")
    kept = json.loads((tmp_path / "run" / KEPT).read_text().splitlines()[1])
    assert (kept["prompt"], kept["subject"]["phrase"], kept["tags"]) == ("a wall", "the wall", {"skeleton": "none"})
