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
import tiny_vlms

from vmmetrics.errors import SetupError
from vmmetrics.models.frames import NO_FRAMES, Frames
from vmmetrics.models.local import LocalModel
from vmmetrics.models.questions import Question, Shown
from vmmetrics.utils.endpoint.messages import RejectedError, Turn

QUESTION = Question("1", "v", "Which way?", ("left", "right"), 0)
TURNS = (Turn("system", "You see clips."), Turn("user", "Which way?\nA. left\nB. right"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_vlms.qwen25(tmp_path_factory.mktemp("models") / "tiny-qwen")


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
    assert "image_grid_thw" in inputs(
        LocalModel(folder, 4, "video"), frames(1)
    )  # not every processor makes videos of 1
    blind = inputs(model, NO_FRAMES)
    assert not {"image_grid_thw", "video_grid_thw"} & set(blind)
    assert model.answer(QUESTION, TURNS, NO_FRAMES).error is None


def test_qwen3_is_told_the_time_of_each_pair_of_frames(tmp_path: Path) -> None:
    model = LocalModel(tiny_vlms.qwen3(tmp_path / "qwen3"), 4)
    uneven = Frames(frames(4).pictures, Shown((0, 1, 2, 7), "made"), (0.0, 1.0, 2.0, 7.0), 3 / 7)
    words = model._processor.decode(inputs(model, uneven)["input_ids"][0])
    assert "<0.5 seconds>" in words
    assert "<4.5 seconds>" in words
    for count in (0, 1, 4):
        assert model.answer(QUESTION, TURNS, frames(count) if count else NO_FRAMES).error is None


def test_internvl_takes_videos_pictures_and_words(tmp_path: Path) -> None:
    folder = tiny_vlms.internvl(tmp_path / "internvl")
    for form, count in (("auto", 0), ("auto", 1), ("auto", 5), ("images", 3)):
        model = LocalModel(folder, 4, form)
        given = inputs(model, frames(count) if count else NO_FRAMES)
        assert len(given.get("pixel_values", ())) == count
        assert model.answer(QUESTION, TURNS, frames(count) if count else NO_FRAMES).usage["output_tokens"] >= 1


def test_what_a_model_does_not_take_is_about_that_question(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LocalModel(folder, 4)

    def full(**_: Any) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(model._model, "generate", full)
    with pytest.raises(RejectedError, match="tiny-qwen does not take this: out of memory"):
        model.answer(QUESTION, TURNS, frames(4))


def test_a_run_by_the_command_line(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tiny_benchmark

    from vmmetrics.cli.main import main
    from vmmetrics.understanding import registry

    monkeypatch.setitem(registry._REGISTERED, "tiny", tiny_benchmark.BENCHMARK)
    tiny_benchmark.write(tmp_path / "data")
    arguments = ["--model", f"hf:{folder}", "--data", str(tmp_path / "data"), "--out", str(tmp_path / "r")]
    with pytest.raises(SystemExit) as stop:
        main(["understand", "run", "tiny", *arguments, "--tokens", "4"])
    assert not stop.value.code
    run = json.loads((tmp_path / "r" / "run.json").read_text())
    assert run["configuration"]["model"]["form"] == "video"
    answers = [json.loads(line) for line in (tmp_path / "r" / "answers.jsonl").read_text().splitlines()]
    assert len(answers) == 12
    assert all(len(row["shown"]["seconds"]) == 4 and row["usage"]["output_tokens"] >= 1 for row in answers)


def test_an_answer_that_ends_with_its_last_token_is_not_cut_off(folder: Path) -> None:
    model = LocalModel(folder, 1)
    assert model.answer(QUESTION, TURNS, NO_FRAMES).usage["cut"] == 1
    model._model.generation_config.eos_token_id = list(range(len(tiny_vlms.WORDS)))  # whatever it says ends it
    assert "cut" not in model.answer(QUESTION, TURNS, NO_FRAMES).usage


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
