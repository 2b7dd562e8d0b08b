"""A tiny model in the files of the real one, written by the tests themselves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PIECES = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "a",
    "cat",
    "##s",
    "run",
    "##ning",
    "jump",
    "##ed",
    "over",
    "!",
    "un",
    "##a",
)
CONFIG = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "hidden_size": 6,
    "intermediate_size": 8,
    "max_position_embeddings": 16,
    "layer_norm_eps": 1e-12,
}


def weights(seed: int = 0) -> dict[str, NDArray[np.float32]]:
    draw = np.random.default_rng(seed)
    width, inner = 6, 8
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(PIECES), width),
        "embeddings.position_embeddings.weight": (16, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        **_norm("embeddings", width),
    }
    for number in range(2):
        at = f"encoder.layer.{number}"
        for part in ("query", "key", "value"):
            shapes |= _linear(f"{at}.attention.self.{part}", width, width)
        shapes |= _linear(f"{at}.attention.output.dense", width, width) | _norm(f"{at}.attention.output", width)
        shapes |= _linear(f"{at}.intermediate.dense", width, inner)
        shapes |= _linear(f"{at}.output.dense", inner, width) | _norm(f"{at}.output", width)
    return {name: draw.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}


def _norm(at: str, width: int) -> dict[str, tuple[int, ...]]:
    return {f"{at}.LayerNorm.weight": (width,), f"{at}.LayerNorm.bias": (width,)}


def _linear(at: str, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{at}.weight": (outputs, inputs), f"{at}.bias": (outputs,)}


def write_safetensors(path: Path, arrays: dict[str, NDArray[np.float32]]) -> None:
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        start, data = len(data), data + array.tobytes()
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [start, len(data)]}
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_model(folder: Path, seed: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "model.safetensors", weights(seed))
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    (folder / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    return folder
