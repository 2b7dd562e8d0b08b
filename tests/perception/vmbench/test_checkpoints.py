"""Checkpoints: every layout that upstream writes loads, and nothing loads in part."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vmmetrics.errors import SetupError  # noqa: E402
from vmmetrics.perception.vmbench.checkpoints import (  # noqa: E402
    Checkpoint,
    architecture_of,
    build_videomae,
    load_encoder,
    read_checkpoint,
)
from vmmetrics.perception.vmbench.ported.videomae import SIZES, Architecture, VideoMAE  # noqa: E402

TINY = Architecture(width=24, depth=2, heads=2, mlp_width=48, patch=8, image=16, frames=4)
Weights = dict[str, torch.Tensor]


@pytest.fixture
def weights() -> Weights:
    model = VideoMAE(TINY, 5)
    model.initialise(3)
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def _prefixed(prefix: str, weights: Weights) -> Weights:
    return {prefix + name: weight for name, weight in weights.items()}


LAYOUTS: dict[str, Callable[[Weights], object]] = {
    "bare": lambda w: w,
    "model": lambda w: {"model": w, "optimizer": {"state": {}}, "epoch": 3, "args": argparse.Namespace(lr=1e-3)},
    "module": lambda w: {"module": w, "dp_world_size": 8},
    "compiled": lambda w: {"model": _prefixed("_orig_mod.", w)},
    "backbone": lambda w: {"model": _prefixed("backbone.", w)},
    "compiled encoder": lambda w: {"module": _prefixed("_orig_mod.encoder.", w)},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_upstream(layout: str, weights: Weights, tmp_path: Path):
    torch.save(LAYOUTS[layout](weights), tmp_path / "c.pt")
    model = build_videomae(read_checkpoint(tmp_path / "c.pt"), 5, TINY)
    assert not model.training
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


def test_half_weights_are_widened(weights: Weights, tmp_path: Path):
    torch.save({"module": {name: value.half() for name, value in weights.items()}}, tmp_path / "c.pt")
    model = build_videomae(read_checkpoint(tmp_path / "c.pt"), 5, TINY)
    assert {value.dtype for value in model.state_dict().values()} == {torch.float32}
    assert model(torch.zeros(1, 3, 4, 16, 16)).shape == (1, 5)


def test_safetensors(weights: Weights, tmp_path: Path):
    safetensors = pytest.importorskip("safetensors.torch")
    safetensors.save_file(weights, tmp_path / "c.safetensors")
    model = build_videomae(read_checkpoint(tmp_path / "c.safetensors"), 5, TINY)
    assert torch.equal(model.head.weight, weights["head.weight"])
    (tmp_path / "d.safetensors").write_bytes(b"not that")
    with pytest.raises(SetupError, match="not readable as safetensors"):
        read_checkpoint(tmp_path / "d.safetensors")


def _without(name: str) -> Callable[[Weights], Weights]:
    return lambda w: {key: value for key, value in w.items() if key != name}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("blocks.1.attn.q_bias"), r"misses blocks\.1\.attn\.q_bias"),
        (_without("head.weight"), r"misses head\.weight"),
        (lambda w: {**w, "norm.weight": torch.ones(24)}, r"has norm\.weight besides"),
        (lambda w: {**w, "head.weight": torch.ones(400, 24)}, r"head\.weight as \(400, 24\) where \(5, 24\)"),
        (lambda w: {**w, "fc_norm.bias": 3}, r"these entries are not tensors: fc_norm\.bias"),
        (lambda w: {**w, "backbone.head.bias": torch.ones(5)}, r"head\.bias is there twice"),
        (lambda w: {}, "it has no entries"),
    ],
)
def test_what_does_not_fit_is_named(
    change: Callable[[Weights], Weights], message: str, weights: Weights, tmp_path: Path
):
    torch.save({"model": change(weights)}, tmp_path / "c.pt")
    with pytest.raises(SetupError, match=message):
        build_videomae(read_checkpoint(tmp_path / "c.pt"), 5, TINY)


def test_what_trainers_leave_beside_the_weights(weights: Weights, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    beside = {
        "best": np.float64(0.7), "seen": np.arange(3), "counts": defaultdict(int, a=1), "folder": Path("runs"),
        "when": datetime(2025, 1, 2), "own": Harmful(), "rate": 2, "architecture": asdict(TINY),
    }  # fmt: skip
    torch.save({"model": defaultdict(float, weights), **beside}, tmp_path / "c.pt")
    read = read_checkpoint(tmp_path / "c.pt")
    assert all(torch.equal(read.weights[name], weight) for name, weight in weights.items())
    assert (read.meta["rate"], read.meta["architecture"]) == (2, asdict(TINY))
    assert build_videomae(read_checkpoint(tmp_path / "c.pt"), 5).net == TINY
    assert "must not run" not in capsys.readouterr().out


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (print, ("this must not run",))


def test_nothing_in_a_file_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    torch.save({"model": {"head.weight": Harmful()}}, tmp_path / "c.pt")
    with pytest.raises(SetupError, match=r"these entries are not tensors: head\.weight"):
        read_checkpoint(tmp_path / "c.pt")
    assert "must not run" not in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"\x80\x02garbage", b"a text file"])
def test_damaged_files_are_refused(content: bytes, tmp_path: Path):
    (tmp_path / "c.pt").write_bytes(content)
    with pytest.raises(SetupError, match=r"c\.pt"):
        read_checkpoint(tmp_path / "c.pt")
    with pytest.raises(SetupError, match="no such checkpoint"):
        read_checkpoint(tmp_path / "missing.pt")


@pytest.mark.parametrize("size", SIZES)
def test_published_sizes_are_told_by_their_shapes(size: str):
    with torch.device("meta"):
        weights = VideoMAE(SIZES[size], 5).state_dict()
    assert architecture_of(Checkpoint(Path("c.pt"), weights, {})) == SIZES[size]


def test_other_sizes_must_be_stated(weights: Weights):
    with pytest.raises(SetupError, match="width 24, depth 2"):
        architecture_of(Checkpoint(Path("c.pt"), weights, {}))
    assert architecture_of(Checkpoint(Path("c.pt"), weights, {"architecture": asdict(TINY)})) == TINY
    with pytest.raises(SetupError, match="architecture cannot be understood"):
        architecture_of(Checkpoint(Path("c.pt"), weights, {"architecture": {"width": 3}}))
    with pytest.raises(SetupError, match="expected weights of a VideoMAE but got conv"):
        architecture_of(Checkpoint(Path("c.pt"), {"conv": torch.ones(1)}, {}))


def test_fine_tuning_starts_from_any_head(weights: Weights):
    model = VideoMAE(TINY, 5)
    model.initialise(9)
    other = {**weights, "head.weight": torch.ones(710, 24), "head.bias": torch.ones(710)}
    assert load_encoder(Checkpoint(Path("c.pt"), other, {}), model) == ["head.weight", "head.bias"]
    assert torch.equal(model.blocks[1].mlp.fc1.weight, weights["blocks.1.mlp.fc1.weight"])
    assert load_encoder(Checkpoint(Path("c.pt"), weights, {}), model) == []


def test_fine_tuning_starts_from_pre_training(weights: Weights):
    model = VideoMAE(TINY, 5)
    model.initialise(9)
    head = model.head.weight.clone()
    encoder = {k: v for k, v in weights.items() if not k.startswith(("head", "fc_norm"))}
    decoder = {"norm.weight": torch.ones(24), "mask_token": torch.ones(1), "decoder.head.bias": torch.ones(3)}
    fresh = load_encoder(Checkpoint(Path("c.pt"), {**encoder, **decoder}, {}), model)
    assert fresh == ["fc_norm.weight", "fc_norm.bias", "head.weight", "head.bias"]
    assert torch.equal(model.head.weight, head)
    del encoder["blocks.0.norm1.bias"]
    with pytest.raises(SetupError, match=r"misses blocks\.0\.norm1\.bias"):
        load_encoder(Checkpoint(Path("c.pt"), encoder, {}), model)
