"""The tiny Q-Align that the released code ran for ``tests/data/vmbench/qalign.npz``, laid out as on the hub."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

DATA = Path(__file__).resolve().parents[2] / "data" / "vmbench"
sys.path.insert(0, str(DATA))

from make_qalign import CLIP, SHAPES_448, noise, random_weights  # noqa: E402

__all__ = ["CLIP", "SHAPES_448", "UPSTREAM", "noise", "tiny_weights", "write_model"]

UPSTREAM = dict(np.load(DATA / "qalign.npz"))
"""What the released code made of it, by name."""


def tiny_weights() -> dict[str, torch.Tensor]:
    """Return all weights, by the names and in the shapes of upstream's own module."""
    shapes = {name: tuple(shape) for name, shape in json.loads(str(UPSTREAM["shapes"])).items()}
    return {name: torch.from_numpy(value) for name, value in random_weights(shapes).items()}


def write_model(
    folder: Path, weights: Mapping[str, torch.Tensor] | None = None, *, files: int = 1, safe: bool = False
) -> Path:
    """Write the model and return its folder.

    Args:
        folder: Where to; made if need be.
        weights: None for :func:`tiny_weights`.
        files: How many files the weights are spread over; an index lists them.
        safe: As safetensors, not as torch does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    weights = tiny_weights() if weights is None else weights
    stem, end = ("model", "safetensors") if safe else ("pytorch_model", "bin")
    names = [f"{stem}-{i + 1:05}-of-{files:05}.{end}" for i in range(files)]
    places = {weight: names[i * files // len(weights)] for i, weight in enumerate(weights)}
    (folder / f"{stem}.{end}.index.json").write_text(json.dumps({"weight_map": places}))
    for name in names:
        part = {weight: value for weight, value in weights.items() if places[weight] == name}
        if safe:
            from safetensors.torch import save_file

            save_file(part, folder / name)
        else:
            torch.save(part, folder / name)
    (folder / "config.json").write_text(str(UPSTREAM["config"]))
    (folder / "preprocessor_config.json").write_text(str(UPSTREAM["processor"]))
    (folder / "tokenizer.model").write_bytes(UPSTREAM["vocabulary"].tobytes())
    return folder
