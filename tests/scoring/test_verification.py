"""The shipped clips and their stored scores; ``vmmetrics verify`` compares them with scores here."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from vmmetrics.errors import SetupError
from vmmetrics.scoring import verification
from vmmetrics.video import read_clip

STORED = json.loads(verification.STORED.read_text())
CLIPS = sorted(path.name for path in verification.CLIPS.iterdir())


def test_the_clips_are_tiny_and_all_have_stored_scores_of_the_present_versions() -> None:
    sizes = [path.stat().st_size for path in verification.CLIPS.iterdir()]
    assert len(CLIPS) == 20 and max(sizes) <= 30_000 and sum(sizes) <= 600_000
    assert all(len(read_clip(verification.CLIPS / name)) == 16 for name in CLIPS)
    assert {"4", "5"} <= STORED["scores"].keys()
    for major, scores in STORED["scores"].items():
        assert sorted(scores) == CLIPS
        assert STORED["made_with"][major]["scores"] == verification.passport()["scores"], "run benchmarks.verify_clips"


def test_every_score_varies_and_all_but_pas_are_missing_somewhere() -> None:
    for scores in STORED["scores"].values():
        for key in scores[CLIPS[0]]:
            values = [clip[key] for clip in scores.values()]
            assert len({*values} - {None}) >= 2
            assert (None in values) == (key != "pas")


def chosen(folder: Path, *names: str) -> Path:
    for name in names:
        shutil.copy(verification.CLIPS / f"{name}.mp4", folder)
    return folder


# Seven clips: of the branches that scores of the 20 take, they take all but 1 in 60; ``.ci/run`` scores the 20.


def test_the_first_clips_score_here_as_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = ("rendered-noisy-still", "rendered-vanish-pop-still", "zeroscope-cars-drive-fast")
    monkeypatch.setattr(verification, "CLIPS", chosen(tmp_path, *names))
    compared = verification.verify(limit=2, jobs=0)
    assert [one for one in compared if not one.agrees] == []
    assert [*dict.fromkeys(one.clip for one in compared)] == [f"{name}.mp4" for name in names[:2]]


@pytest.mark.slow
def test_clips_score_in_workers_as_stored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    names = (
        "cogvideo-woman-walks-and-sits", "real-juggle", "rendered-plain-still", "rendered-warp-strong-still",
        "text2video-zero-woman-walks-and-sits",
    )  # fmt: skip
    monkeypatch.setattr(verification, "CLIPS", chosen(tmp_path, *names))
    compared = verification.verify()
    assert [one for one in compared if not one.agrees] == []
    assert {one.clip for one in compared} == {f"{name}.mp4" for name in names}


@pytest.mark.parametrize(
    ("stored", "here", "error", "agrees"),
    [
        (0.5, 0.5000009, "", True),
        (0.5, 0.5000011, "", False),
        (None, None, "", True),
        (None, None, "ValueError: x", False),
        (None, 0.5, "", False),
        (0.5, None, "", False),
    ],
)
def test_scores_agree_to_1e_6_and_missing_ones_with_missing_ones(
    stored: float | None, here: float | None, error: str, agrees: bool
) -> None:
    assert verification.ComparedScore("a.mp4", "mss", stored, here, verification.SAME, error).agrees is agrees


def test_without_avx2_the_stated_tolerance_holds(fake_suite: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "has_avx2", lambda: False)
    tolerances = {one.score: one.tolerance for one in verification.verify(limit=1, jobs=0)}
    assert tolerances == STORED["tolerance_without_avx2"]
    assert min(tolerances.values()) > verification.SAME


def test_other_versions_of_packages_may_round_otherwise(fake_suite: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "has_avx2", lambda: True)
    for numpy, tolerance in ((None, verification.SAME), ("2.0.2", verification.OTHER_VERSIONS)):
        versions = STORED["made_with"][verification.opencv_major()]["versions"]
        recorded = {**versions, "numpy": numpy or versions["numpy"]}
        monkeypatch.setattr(verification.provenance, "recorded_versions", lambda recorded=recorded: recorded)
        assert {one.tolerance for one in verification.verify(limit=1, jobs=0)} == {tolerance}


def test_an_opencv_without_stored_scores_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "opencv_major", lambda: "6")
    with pytest.raises(SetupError, match="OpenCV 6; install one of 4, 5"):
        verification.verify(limit=1)
