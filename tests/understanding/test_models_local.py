"""A video language model of transformers, tiny and with random weights, through its own processor and template."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

sys.path.insert(0, str(Path(__file__).parent))
import tiny_qwen

from vmmetrics.endpoint import Turn
from vmmetrics.errors import SetupError
from vmmetrics.understanding.frames import NO_FRAMES, Frames
from vmmetrics.understanding.models.local import LocalModel
from vmmetrics.understanding.questions import Question
from vmmetrics.understanding.replies import Shown

QUESTION = Question("1", "v", "Which way?", ("left", "right"), 0)
TURNS = (Turn("system", "You see clips."), Turn("user", "Which way?\nA. left\nB. right"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models") / "tiny-qwen"
    tiny_qwen.write(made)
    return made


def frames(count: int, told: float = 0.5, seed: int = 0) -> Frames:
    pictures = np.random.default_rng(seed).integers(0, 255, (count, 56, 56, 3), np.uint8)
    seconds = tuple(told * place for place in range(count))
    return Frames(pictures, Shown(seconds, "made"), seconds, 1 / told)


def inputs(model: LocalModel, shown: Frames) -> Any:
    return model._inputs(TURNS, shown)


def test_frames_go_in_as_one_video_and_answers_can_be_had_again(folder: Path) -> None:
    model = LocalModel(folder, 8)
    first, again = (model.answer(QUESTION, TURNS, frames(4)) for _ in range(2))
    assert first == again
    assert 1 <= first.usage["output_tokens"] <= 8
    given = inputs(model, frames(4))
    assert given["video_grid_thw"].tolist()[0][0] == 2  # four frames, two to a patch of time
    assert "pixel_values" not in given
    assert first.usage["input_tokens"] == given["input_ids"].shape[1]


def test_the_model_is_told_the_real_rate(folder: Path) -> None:
    model = LocalModel(folder, 8)
    # a patch of time is two frames: 1 s at 2 frames a second, 4 s at half a frame
    assert float(inputs(model, frames(8, 0.5))["second_per_grid_ts"][0]) == pytest.approx(1.0)
    assert float(inputs(model, frames(8, 2.0))["second_per_grid_ts"][0]) == pytest.approx(4.0)


def test_frames_as_pictures_one_frame_and_none(folder: Path) -> None:
    pictures = LocalModel(folder, 4, "images")
    assert pictures.identity["form"] == "images"
    assert inputs(pictures, frames(3))["image_grid_thw"].shape[0] == 3
    model = LocalModel(folder, 4)
    assert model.identity["form"] == "video"
    assert "image_grid_thw" in inputs(model, frames(1))
    assert "video_grid_thw" in inputs(LocalModel(folder, 4, "video"), frames(1))
    blind = inputs(model, NO_FRAMES)
    assert not {"image_grid_thw", "video_grid_thw"} & set(blind)
    assert model.answer(QUESTION, TURNS, NO_FRAMES).error is None


def test_what_is_shown_reaches_the_model(folder: Path) -> None:
    model = LocalModel(folder, 8)
    shown = [inputs(model, frames(4, seed=seed))["pixel_values_videos"] for seed in (0, 1)]
    assert (shown[0] != shown[1]).any()


def test_the_identity_is_of_the_weights(folder: Path, tmp_path: Path) -> None:
    identity = LocalModel(folder, 8).identity
    assert "model.safetensors" in identity["weights"]
    assert json.dumps(identity)


def test_folders_that_hold_no_model(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="no folder"):
        LocalModel(tmp_path / "absent", 8)
    with pytest.raises(SetupError, match="not readable"):
        LocalModel(tmp_path, 8)
    import shutil

    code = tmp_path / "code"
    shutil.copytree(folder, code)
    config = json.loads((code / "config.json").read_text())
    config |= {"model_type": "unknown", "auto_map": {"AutoModelForImageTextToText": "evil.Model"}}
    (code / "config.json").write_text(json.dumps(config))
    (code / "evil.py").write_text("raise SystemExit('code of the folder was run')")
    with pytest.raises(SetupError):
        LocalModel(code, 8)
