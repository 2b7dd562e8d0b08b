"""A classifier held against labels, without torch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vmmetrics.cas.evaluate.evaluation import LoadedClassifier, evaluate_classifier, load_judge
from vmmetrics.cas.labelled_clips import LabelledClip, LabelledClips
from vmmetrics.cli.main import main
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"


@pytest.fixture
def data(tmp_path: Path) -> LabelledClips:
    clips = []
    for number in range(6):
        path = tmp_path / f"{number}.npy"
        np.save(path, np.full((4, 8, 8, 3), 50 * number, np.uint8))
        clips.append(LabelledClip(path.name, path, min(number, 4), f"take {number // 2}", None))
    return LabelledClips(tuple(clips), (), "")


def by_brightness(clip: Clip) -> np.ndarray:
    """Two views, one right and one a level too low; the brightest clip cannot be judged."""
    level = int(clip.frames[0, 0, 0, 0]) // 50
    if level == 5:
        raise ClipError("too bright")
    return np.eye(5)[[level, max(level - 1, 0)]]


def test_views_are_averaged_and_failures_named(data: LabelledClips):
    found = evaluate_classifier(LoadedClassifier(by_brightness), data)
    assert [row["score"] for row in found.clips] == pytest.approx([0, 0.125, 0.375, 0.625, 0.875])
    assert found.failed == (("5.npy", "too bright"),)
    assert found.report.overall.mae.value == pytest.approx((0 + 4 * 0.5) / 5)
    assert found.report.overall.spearman.value == pytest.approx(1)
    json.dumps(found.to_json(), allow_nan=False)


def test_what_was_trained_on_is_left_out(data: LabelledClips):
    judge = LoadedClassifier(by_brightness, {data.clips[0].prompt_key})
    assert evaluate_classifier(judge, data).seen == ("0.npy", "1.npy")
    assert len(evaluate_classifier(judge, data, include_seen=True).clips) == 5
    everything = LoadedClassifier(by_brightness, {clip.prompt_key for clip in data.clips})
    with pytest.raises(SetupError, match="6 of 6 are of prompts that the classifier was trained on"):
        evaluate_classifier(everything, data)


def test_the_embedded_classifier_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    labels = tmp_path / "labels.csv"
    labels.write_text(
        "clip,level,prompt\ncogvideo/cars-drive-fast.mp4,3,cars drive fast\n"
        "zeroscope/cars-drive-fast.mp4,1,cars drive fast\n"
    )
    with pytest.raises(SystemExit) as ended:
        main(["cas", "eval", "embedded", str(SAMPLES), str(labels), "--out", str(tmp_path / "out.json")])
    assert not ended.value.code
    assert "calibration error" in capsys.readouterr().out
    stored = json.loads((tmp_path / "out.json").read_text())
    assert [row["level"] for row in stored["clips"]] == [3, 1]
    assert all(sum(row["probabilities"]) == pytest.approx(1) for row in stored["clips"])


def test_no_such_checkpoint(tmp_path: Path):
    pytest.importorskip("torch")
    with pytest.raises(SetupError, match="no such checkpoint"):
        load_judge(str(tmp_path / "none.pt"))
