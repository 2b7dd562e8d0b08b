"""Clips from a tiny diffusers pipeline of random weights; skipped where diffusers is not installed."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.prompts.clips.makers import PipelineMaker, _frames_of, _refuse_code

_spec = importlib.util.spec_from_file_location("tiny_pipeline", Path(__file__).with_name("tiny_pipeline.py"))
assert _spec and _spec.loader
tiny_pipeline = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tiny_pipeline)
Generate = Callable[..., Any]

CALL = ("--fps", 8, "--frames", 5, "--size", "32x32", "--steps", 1, "--set", "max_sequence_length=8",
        "--set", "guidance_scale=1.0")  # fmt: skip


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for needed in ("torch", "transformers", "accelerate", "diffusers"):
        pytest.importorskip(needed)
    return tiny_pipeline.build(tmp_path_factory.mktemp("pipelines") / "tiny")


def journal(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "generation.jsonl").read_text().splitlines()]


def test_a_pipeline_makes_clips_that_scoring_finds(
    tmp_path: Path, tiny: Path, prompts: Path, generate_clips: Generate
) -> None:
    from vmmetrics.video.discover import discover
    from vmmetrics.video.prompts import Prompts

    more = ("--prompts", prompts, "--pipeline", tiny, *CALL, "--limit", 2)
    done = generate_clips(*more, "--out", "a")
    assert done.returncode == 0, done.stderr
    session, *clips = journal(tmp_path / "a")
    assert session["class"] == "WanPipeline" and session["versions"]["diffusers"] and session["device"] == "cpu"
    assert session["configuration"]["options"] == {"max_sequence_length": 8, "guidance_scale": 1.0}
    assert [(c["frames"], c["fps"], c["width"], c["height"]) for c in clips] == [(5, 8.0, 32, 32)] * 2
    assert clips[0]["sha256"] != clips[1]["sha256"]
    found = [Prompts().lookup(source) for source in discover([tmp_path / "a"])]
    assert [one.subject.noun for one in found if one.subject] == ["kite", "man"]

    (tmp_path / "a/0002.mp4").unlink()  # made again it is the same: the seed says it all
    assert generate_clips(*more, "--out", "a").returncode == 0
    remade = hashlib.sha256((tmp_path / "a/0002.mp4").read_bytes()).hexdigest()
    assert remade == clips[1]["sha256"]
    assert generate_clips(*more, "--out", "b", "--seed", 1).returncode == 0
    assert journal(tmp_path / "b")[1]["sha256"] != clips[0]["sha256"]
    assert generate_clips(*more, "--out", "a", "--set", "flow=1").returncode == 2


def test_another_pipeline_is_not_mixed_in(tmp_path: Path, tiny: Path, prompts: Path, generate_clips: Generate) -> None:
    assert generate_clips("--prompts", prompts, "--out", "a", "--pipeline", tiny, *CALL, "--limit", 1).returncode == 0
    other = shutil.copytree(tiny, tmp_path / "tiny")
    weights = other / "vae/diffusion_pytorch_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    done = generate_clips("--prompts", prompts, "--out", "a", "--pipeline", other, *CALL)
    assert done.returncode == 2 and "weights" in done.stderr


def test_what_a_pipeline_does_not_take_is_told_before_anything_is_made(
    tmp_path: Path, tiny: Path, prompts: Path, generate_clips: Generate
) -> None:
    base = ("--prompts", prompts, "--out", "a", "--pipeline", tiny, *CALL)
    for wrong, says in ((("--set", "strength=1"), "takes no strength"), (("--set", "prompt=x"), "--set prompt"),
                        (("--set", "width=8"), "set twice"), (("--dtype", "float7"), "float7"),
                        (("--device", "cuda:99"), "cuda:99")):  # fmt: skip
        done = generate_clips(*base, *wrong)
        assert done.returncode == 2 and says in done.stderr
    assert not list(tmp_path.rglob("*.mp4"))


def test_a_prompt_that_fails_is_recorded(tmp_path: Path, tiny: Path, prompts: Path, generate_clips: Generate) -> None:
    """33 pixels do not fit Wan's patches: the pipeline raises for every prompt."""
    call = ["33x33" if word == "32x32" else word for word in CALL]
    done = generate_clips("--prompts", prompts, "--out", "a", "--pipeline", tiny, *call)
    errors = [line["error"] for line in journal(tmp_path / "a")[1:]]
    assert done.returncode == 3 and len(errors) == 4 and all("ValueError" in error for error in errors)


def test_pickled_weights_are_not_loaded(tmp_path: Path, tiny: Path, prompts: Path, generate_clips: Generate) -> None:
    import torch
    from safetensors.torch import load_file

    other = shutil.copytree(tiny, tmp_path / "tiny")
    weights = other / "transformer/diffusion_pytorch_model.safetensors"
    torch.save(load_file(weights), other / "transformer/diffusion_pytorch_model.bin")
    weights.unlink()
    done = generate_clips("--prompts", prompts, "--out", "a", "--pipeline", other, *CALL)
    assert done.returncode == 2 and "cannot be loaded" in done.stderr


@pytest.mark.parametrize("name", ["None.py", "pipeline.py", "vae/modeling.py"])
def test_code_that_comes_with_a_pipeline_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "vae").mkdir()
    (tmp_path / "model_index.json").write_text('{"_class_name": "WanPipeline"}')
    _refuse_code(tmp_path)
    (tmp_path / name).write_text("raise SystemExit('ran')")
    with pytest.raises(SetupError, match="custom code"):
        _refuse_code(tmp_path)


def test_a_class_of_its_own_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model_index.json").write_text('{"_class_name": ["mine", "MyPipeline"]}')
    with pytest.raises(SetupError, match="custom pipeline code"):
        _refuse_code(tmp_path)


def test_outputs_of_every_kind_hold_one_clip() -> None:
    clip = np.zeros((5, 8, 8, 3))
    for output in (SimpleNamespace(frames=clip[None]), SimpleNamespace(frames=[clip]), ([clip],), (clip[None], None)):
        assert np.shape(_frames_of(output)) == (5, 8, 8, 3)
    for output in (SimpleNamespace(images=[1]), SimpleNamespace(frames=[clip, clip]), ()):
        with pytest.raises(ClipError):
            _frames_of(output)


def test_what_is_missing_is_told_with_what_mends_it(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match=r"pip install .*\[diffusers\]|hf download"):
        PipelineMaker("nobody/nothing-like-this", 8)
    with pytest.raises(SetupError, match=r"model_index.json|pip install"):
        PipelineMaker(str(tmp_path), 8)
