"""Clips scored in windows: the combination by hand with a scripted suite, and the real one on a tiny file."""

from __future__ import annotations

import json
import weakref
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_suite import fake_models

from tests.bad_inputs import write_pictures
from vmmetrics.clip import Clip
from vmmetrics.functional import commonsense_adherence_score
from vmmetrics.functional.tripwires import tripwires
from vmmetrics.perception.scene import Scene
from vmmetrics.scoring.clip_scores import ClipScores
from vmmetrics.scoring.record import Record, WindowScores, drift
from vmmetrics.scoring.run import Start, prepare, run
from vmmetrics.scoring.scored_clip import recall
from vmmetrics.scoring.scorer import Scorer
from vmmetrics.scoring.settings import Settings, reading_options
from vmmetrics.scoring.show.capture import TRACKED_FRAMES, Album
from vmmetrics.scoring.show.overlay import MOST_OBJECTS, decode_overlay
from vmmetrics.scoring.suite import Suite
from vmmetrics.scoring.summary import remarks
from vmmetrics.scoring.tasks import Task
from vmmetrics.scoring.windows import score_windows
from vmmetrics.types import AmplitudeResult, Event, MetricResult
from vmmetrics.utils import progress
from vmmetrics.video import read_clip
from vmmetrics.video.budget import clip_bytes
from vmmetrics.video.encoding import write_h264
from vmmetrics.video.windows import Window, stream_windows

FPS = 6
GOOD = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
STILL = "nothing moves: all 30 frames show the same image"


class ScriptedSuite:
    """Metrics by the number of a frame, which is its value: a change between two frames is seen where both are."""

    protocol = "vmmetrics"

    def __init__(self, changes: Collection[int] = (), **windows: Any) -> None:
        self.changes, self.windows = changes, windows
        self.metrics = ("cas", "mss", "ois", "pas", "tcs")

    def scene(self, clip: Clip) -> Scene:
        return Scene(clip, fake_models())

    def score_scene(self, scene: Scene, metrics: Collection[str] | None = None) -> ClipScores:
        clip = scene.clip
        first, count = int(clip.frames[0, 0, 0, 0]), len(clip)
        frames = [k - first for k in self.changes if first < k < first + count]
        drops = tuple(Event("mss", (k,), "quality drops") for k in frames)
        lost = tuple(Event("tcs", (k,), "vanished", f"object {n}") for n, k in enumerate(frames, 1))
        start = f"at{first // FPS}"
        results = {
            "cas": commonsense_adherence_score(GOOD),
            "mss": MetricResult(1 - len(drops) / count, events=drops, series={"quality": np.full(count, 0.5)}),
            "ois": MetricResult(0.5),
            "pas": AmplitudeResult(first / 60, amplitude=first / 60),
            "tcs": MetricResult(0.5 if lost else 1.0, events=lost),
        }
        results |= self.windows.get(start, {}) if metrics is None else {}
        errors = {key: "broken" for key in self.metrics if key in results and results[key] is None}
        chosen = {k: r for k, r in results.items() if r is not None and (metrics is None or k in metrics)}
        return ClipScores(clip.name, chosen, errors, 1.0, own_change=0.1)


def windows_of(seconds: float) -> Iterator[Window]:
    frames = (np.full((8, 8, 3), number, np.uint8) for number in range(round(seconds * FPS)))
    return stream_windows(frames, {"name": "a"}, fps=FPS)


def scored(seconds: float, suite: ScriptedSuite) -> ClipScores:
    *parts, whole = score_windows(suite, windows_of(seconds))  # type: ignore[arg-type]
    assert [part.windows for part in parts] == [(window,) for window in whole.windows]
    return whole


def test_scores_are_means_weighted_by_seconds() -> None:
    whole = scored(12, ScriptedSuite())
    assert [(w.start, w.end, w.frames) for w in whole.windows] == [(0, 5, 30), (5, 10, 30), (10, 12, 12)]
    assert whole.scores["pas"] == pytest.approx((5 * 0 + 5 * 0.5 + 2 * 1) / 12)
    assert whole.amplitude == pytest.approx(whole.scores["pas"])
    assert whole.own_change == 0.1
    assert whole.name == "a"
    assert len(whole.results["mss"].series["quality"]) == 72
    assert whole.results["pas"].series["windows"][[0, 30, 71]] == pytest.approx([0, 0.5, 1])
    assert "scored in 3 windows of 5 s; drift: " in whole.notes[0]
    assert "PAS +1.000" in whole.notes[0]


@pytest.mark.parametrize("frame", [1, 28, 29, 30, 31, 32, 45, 59])
def test_a_change_is_counted_once_wherever_it_is(frame: int) -> None:
    whole = scored(10, ScriptedSuite([frame]))
    assert [event.frames for event in whole.results["mss"].events] == [(frame,)]
    assert [event.frames for event in whole.results["tcs"].events] == [(frame,)]
    assert whole.scores["mss"] == pytest.approx(1 - 1 / 60)  # as of the clip as a whole
    assert whole.scores["tcs"] == pytest.approx(0.75)  # one of two objects of one of two windows


def test_two_changes_at_an_edge_are_two() -> None:
    whole = scored(10, ScriptedSuite([30, 31]))
    assert [event.frames for event in whole.results["mss"].events] == [(30,), (31,)]
    assert whole.scores["mss"] == pytest.approx(1 - 2 / 60)


def test_objects_are_numbered_through_the_clip() -> None:
    whole = scored(10, ScriptedSuite([3, 8, 40]))
    assert [event.target for event in whole.results["tcs"].events] == ["object 1", "object 2", "object 3"]


def test_a_failed_window_fails_the_metric_and_says_where() -> None:
    whole = scored(12, ScriptedSuite(at5={"ois": None}))
    assert whole.errors == {"ois": "5-10 s: broken"}
    assert "ois" not in whole.scores
    assert whole.windows[1].errors == {"ois": "broken"}


def test_a_score_that_a_window_lacks_is_that_of_the_others_and_said() -> None:
    whole = scored(15, ScriptedSuite(at5={"ois": MetricResult(None, "no person")}, at10={"ois": MetricResult(1.0)}))
    assert whole.scores["ois"] == pytest.approx((0.5 + 1) / 2)
    assert "OIS is missing in 5-10 s: no person" in whole.notes
    nobody = {"ois": MetricResult(None, "no person")}
    assert scored(10, ScriptedSuite(at0=nobody, at5=nobody)).missing == {"ois": "no person, in each of 2 windows"}


def test_freezing_for_a_window_is_not_free() -> None:
    frozen = {key: MetricResult(None, STILL) for key in ("cas", "mss", "ois", "tcs")}
    whole = scored(10, ScriptedSuite(at5=frozen))
    assert whole.scores["cas"] == pytest.approx(6 / 11)  # a good window and the overlap, of 5 and 1 s, and a still
    assert whole.index is not None
    assert whole.index < 0.7
    still = scored(10, ScriptedSuite(at0=frozen, at5=frozen))
    record = Record("a", None, None, None, "embedded", "vmmetrics", missing=still.missing, windows=still.windows)
    assert record.collapsed == "still"
    assert record.counts_as_zero


def test_drift_is_that_of_the_last_half_against_the_first() -> None:
    windows = [WindowScores(5 * k, 5 * k + 5, 30, {"cas": score}) for k, score in enumerate((0.9, 0.7, 0.5, 0.4, 0.2))]
    assert drift(windows, "cas") == pytest.approx((0.4 + 0.2) / 2 - (0.9 + 0.7) / 2)
    assert drift(windows[:1], "cas") is None
    assert drift(windows, "mss") is None


def test_at_most_one_window_is_in_memory_when_the_next_is_read() -> None:
    alive: list[weakref.ref[Any]] = []

    def watched() -> Iterator[Window]:
        for window in windows_of(20):
            assert not any(ref() is not None for ref in alive)
            alive.append(weakref.ref(window.clip.frames))
            yield window
            del window

    assert len(list(score_windows(ScriptedSuite(), watched()))) == 5  # type: ignore[arg-type]


def test_shares_of_windows_ascend_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    monkeypatch.setattr(progress, "_share_listeners", [shares.append])

    class TellingSuite(ScriptedSuite):
        def score_scene(self, scene: Scene, metrics: Collection[str] | None = None) -> ClipScores:
            progress.tell_share(0.5)
            progress.tell_share(1.0)
            return super().score_scene(scene, metrics)

    list(score_windows(TellingSuite(), windows_of(10), 2))  # type: ignore[arg-type]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_added_metrics_join_the_windows_of_a_record() -> None:
    older = Record(
        "a", None, None, "00", "embedded", "vmmetrics", {"cas": 0.5}, windows=(WindowScores(0, 5, 30, {"cas": 0.5}),)
    )
    newer = replace(older, scores={"mss": 0.9}, windows=(WindowScores(0, 5, 30, {"mss": 0.9}),))
    assert newer.over(older).windows[0].scores == {"cas": 0.5, "mss": 0.9}
    assert Record.from_line(json.dumps(older.to_json()).encode()) == older


# The real suite.

SIZE = (96, 72)
RATE = 8


@pytest.fixture(scope="module")
def long_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eleven and a half seconds of a thing over a texture; it vanishes at exactly 5 s."""
    rng = np.random.default_rng(3)
    ground = np.kron(rng.integers(60, 150, (12, 16, 3)), np.ones((6, 6, 1))).astype(np.uint8)
    thing = rng.integers(150, 250, (24, 24, 3)).astype(np.uint8)
    frames = []
    for number in range(round(11.5 * RATE)):
        frame = ground.copy()
        x = round(36 + 30 * np.sin(number / 6))
        if number < 5 * RATE:
            frame[20:44, x : x + 24] = thing
        frame[50:66, (3 * number) % 70 : (3 * number) % 70 + 16] = thing[:16, :16] // 2
        frames.append(frame)
    path = tmp_path_factory.mktemp("long") / "a.mp4"
    write_h264(path, frames, RATE, {"crf": "10"})
    return path


MEMORY = clip_bytes(7 * RATE, *SIZE)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_windows_score_as_their_frames_alone_and_the_clip_is_recalled(
    long_file: Path, tmp_path: Path, kind: str
) -> None:
    if kind == "folder":
        long_file = write_pictures(tmp_path / "pictures", read_clip(long_file).frames)
    settings = Settings(
        metrics=("pas", "tcs"), reading=reading_options(None, MEMORY), keep_overlays=True, tripwires=True
    )
    setup = prepare(settings)
    table = run(setup, [Task("a", None, long_file, ("pas", "tcs"))], Start(), tmp_path / "run")
    record = table[0]
    assert record.error is None
    assert [(w.start, w.end) for w in record.windows] == [(0, 5), (5, 10), (10, 11.5)]
    assert any("scored in windows of 5 s in 1 of 1 clips: a in 3, drift" in line for line in remarks(table))
    suite, whole = Suite(metrics=("pas", "tcs")), read_clip(long_file)
    for window, first in zip(record.windows, (0, 5 * RATE, 10 * RATE), strict=True):
        alone = suite.score_clip(whole.frames[first : first + window.frames], fps=RATE, layout="THWC")
        assert window.scores == pytest.approx(alone.scores, abs=1e-6)
    recalled = recall(tmp_path / "run", "a")
    objects = recalled.perceived.objects
    assert objects is not None
    assert objects.labels.shape[0] == record.frames == len(whole)
    assert objects.scale[0] * objects.labels.shape[2] == pytest.approx(recalled.clip.width)
    lines = (tmp_path / "run" / "events.jsonl").read_text().splitlines()
    stored = json.loads(lines[0])["metrics"]
    assert stored["tripwires"]["frozen_share"] == pytest.approx(tripwires(whole.frames, whole.fps).frozen_share)
    assert stored["tripwires"]["exposure_drift"] == pytest.approx(tripwires(whole.frames, whole.fps).exposure_drift)


@pytest.mark.parametrize("cut", [37, 40, 43])
def test_a_cut_at_an_edge_or_near_it_counts_once(cut: int) -> None:
    """Cuts at 4.6, 5 and 5.4 s: what a window does not see so near its end, the overlap does."""
    frames = []
    for number in range(10 * RATE):
        rng = np.random.default_rng(3 if number < cut else 11)
        frame = np.kron(rng.integers(60, 150, (12, 16, 3)), np.ones((6, 6, 1))).astype(np.uint8)
        x = round(36 + 30 * np.sin(number / 6))
        frame[20:44, x : x + 24] = rng.integers(150, 250, (24, 24, 3))
        frames.append(frame)
    *_, whole = Suite(metrics=("mss",)).stream(iter(frames), fps=RATE)
    (event,) = whole.results["mss"].events
    assert event.frames[0] in (cut - 1, cut)
    assert whole.scores["mss"] == pytest.approx(1 - 1 / len(frames))


def test_the_overlay_of_an_hour_has_no_more_objects_than_ids_and_no_tracks() -> None:
    suite, album = ScriptedSuite(), Album(TRACKED_FRAMES + 1, FPS, overlay=True, wires=False)
    window = next(windows_of(3))
    for numbered in (0, MOST_OBJECTS):
        scene = suite.scene(window.clip)
        album.add(window, scene, suite.score_scene(scene), numbered)
    pictures, problems, wires = album.close()
    perceived = decode_overlay(pictures.overlay)
    assert perceived.objects is not None
    assert [item.id for item in perceived.objects.objects] == [1]
    assert not perceived.tracks
    assert (problems, wires) == ((), None)


def test_a_clip_that_fits_is_scored_whole(long_file: Path) -> None:
    task = Task("a", None, long_file, ("pas",))
    outcome = Scorer(Settings(metrics=("pas",), keep_overlays=False)).score(task)
    assert outcome.record.windows == ()
    assert "windows" not in outcome.record.to_json()


def test_the_released_protocol_sees_the_clip_whole_and_says_what_is_reduced(long_file: Path) -> None:
    memory = clip_bytes(round(11 * RATE), *SIZE)
    reading = reading_options(None, memory)
    settings = Settings(protocol="vmbench", metrics=("pas",), reading=reading, keep_overlays=False)
    record = Scorer(settings).score(Task("a", None, long_file, ("pas",))).record
    assert record.windows == ()
    assert record.scored_size is not None
    with pytest.raises(ValueError, match="windows"):
        Suite(protocol="vmbench", metrics=("pas",)).stream(iter(()), fps=RATE)
