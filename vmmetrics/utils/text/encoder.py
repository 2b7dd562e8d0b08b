"""BERT's encoder in numpy (Devlin et al., 2019; Vaswani et al., 2017), and its weights under Hugging Face's names."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from vmmetrics.errors import SetupError, os_reason
from vmmetrics.utils.storage.opening import open_regular

Floats = NDArray[np.float32]

_HALF_ROOT: Final = np.float32(1 / np.sqrt(2))


_NUMBERS: Final = (
    "num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "max_position_embeddings",
)  # fmt: skip


class Encoder:
    """The encoder: numbers of tokens in, a vector for each out.

    Args:
        tensors: Weights by name, without a prefix before ``embeddings`` and ``encoder``.
        config: The model's ``config.json``.

    Attributes:
        width: Numbers of a token's vector.
        positions: Most tokens of a text.
        vocabulary: How many tokens there are.

    Raises:
        SetupError: It is none of a BERT with exact GELU and absolute positions; a weight is missing or has another
            shape.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], config: Mapping[str, Any]) -> None:
        kind = config.get("model_type"), config.get("hidden_act"), config.get("position_embedding_type", "absolute")
        if kind != ("bert", "gelu", "absolute"):
            raise SetupError(f"Expected a BERT with gelu and absolute positions but got {kind}")
        for name in _NUMBERS:
            number = config.get(name)
            if type(number) is not int or number < 1:
                raise SetupError(f"Expected {name} to be a whole number above 0 but got {number!r}")
        layers, heads, width, inner, positions = (config[name] for name in _NUMBERS)
        if width % heads:
            raise SetupError(f"Expected heads that divide the width but got {heads} and {width}")
        self._heads, self.width, self.positions = heads, width, positions
        self._epsilon = np.float32(float(config.get("layer_norm_eps", 1e-12)))
        self._blocks = [f"encoder.layer.{number}" for number in range(layers)]
        self._pairs: dict[str, tuple[Floats, Floats]] = {}  # weight, (in, out) of a linear layer, and bias

        def norm(name: str) -> None:
            self._pairs[name] = self._pair(tensors, f"{name}.LayerNorm", (width,))

        def linear(name: str, *parts: str, inputs: int = width, outputs: int = width) -> None:
            """Take one layer, or several side by side."""
            pairs = [self._pair(tensors, part, (outputs, inputs)) for part in parts or (name,)]
            weights, biases = zip(*((np.ascontiguousarray(weight.T), bias) for weight, bias in pairs), strict=True)
            self._pairs[name] = np.concatenate(weights, axis=-1), np.concatenate(biases)

        self._words = _array(tensors, "embeddings.word_embeddings.weight", (-1, width))
        self.vocabulary = len(self._words)
        positional = _array(tensors, "embeddings.position_embeddings.weight", (positions, width))
        self._positional: Floats = (
            positional + _array(tensors, "embeddings.token_type_embeddings.weight", (-1, width))[0]
        )
        norm("embeddings")
        for block in self._blocks:
            linear(f"{block}.projected", *(f"{block}.attention.self.{part}" for part in ("query", "key", "value")))
            linear(f"{block}.attention.output.dense")
            norm(f"{block}.attention.output")
            linear(f"{block}.intermediate.dense", outputs=inner)
            linear(f"{block}.output.dense", inputs=inner)
            norm(f"{block}.output")

    @staticmethod
    def _pair(tensors: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        return _array(tensors, f"{name}.weight", shape), _array(tensors, f"{name}.bias", shape[:1])

    def __call__(self, tokens: NDArray[np.int64]) -> Floats:
        """Encode texts of one length.

        Args:
            tokens: (N, T) numbers below the vocabulary's size, T at most ``positions``. Texts of one length need
                no padding, so that a text's vector does not depend on the other texts.

        Returns:
            (N, T, width).
        """
        x = self._normed("embeddings", self._words[tokens] + self._positional[: tokens.shape[1]])
        for block in self._blocks:
            mixed = self._attended(self._linear(f"{block}.projected", x))
            x = self._normed(f"{block}.attention.output", x + self._linear(f"{block}.attention.output.dense", mixed))
            wide = gelu(self._linear(f"{block}.intermediate.dense", x))
            x = self._normed(f"{block}.output", x + self._linear(f"{block}.output.dense", wide))
        return x

    def _linear(self, name: str, x: Floats) -> Floats:
        weight, bias = self._pairs[name]
        return x @ weight + bias

    def _normed(self, name: str, x: Floats) -> Floats:
        weight, bias = self._pairs[name]
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        normed: Floats = centred / np.sqrt(variance + self._epsilon) * weight + bias
        return normed

    def _attended(self, projected: Floats) -> Floats:
        """Mix values by how well keys fit queries: (N, T, 3 width) to (N, T, width)."""
        texts, length, _ = projected.shape
        heads = self._heads
        size = self.width // heads
        parts = projected.reshape(texts, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
        queries, keys, values = parts  # (N, heads, T, size) each
        fit = queries @ keys.swapaxes(-1, -2) / np.float32(np.sqrt(size))
        share = np.exp(fit - fit.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        mixed: Floats = (share @ values).transpose(0, 2, 1, 3).reshape(texts, length, heads * size)
        return mixed


def gelu(x: Floats) -> Floats:
    """Return the exact Gaussian error linear unit, x Phi(x) (Hendrycks and Gimpel, 2016)."""
    half = np.float32(0.5)
    out: Floats = x * half * (np.float32(1) + erf(x * _HALF_ROOT))
    return out


def _array(tensors: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> Floats:
    """Return a weight after checking type and shape; -1 stands for any size."""
    tensor = tensors.get(name)
    if tensor is None:
        raise SetupError(f"The weights lack {name}: they are not a BERT's")
    fits = len(tensor.shape) == len(shape) and all(a in (b, -1) for a, b in zip(shape, tensor.shape, strict=True))
    if not fits or tensor.dtype != np.float32:
        raise SetupError(f"Expected {name} to be float32 of shape {shape} but got {tensor.dtype} of {tensor.shape}")
    return tensor


# Arrays of a ``.safetensors`` file, mapped into memory: plain numbers behind a header of JSON, nothing that runs.

_LENGTH_BYTES: Final = 8
_LONGEST_HEADER: Final = 2**20
"""Bytes; the header of a model with 100 tensors takes 10 KB, and the format itself allows 100 MB."""
_TYPES: Final = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Map every array of a file, read-only; a page is read when it is used.

    Args:
        path: A file in safetensors' format (https://github.com/huggingface/safetensors, "Format").

    Raises:
        SetupError: It cannot be read, is cut off, or its header is not valid.
    """
    try:
        with open_regular(path) as file:
            length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
            text = file.read(length) if length <= _LONGEST_HEADER else b""
        if not text or len(text) < length:
            raise SetupError(f"{path}: not a safetensors file, or cut off inside its header")
        data = np.memmap(path, np.uint8, "r")[_LENGTH_BYTES + length :]
    except (OSError, ValueError) as error:
        raise SetupError(f"Cannot read {path}: {os_reason(error)}") from error
    try:
        header = json.loads(text)
        return {name: _tensor(data, entry) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SetupError(f"{path}: cut off or altered: {type(error).__name__}: {error}") from error


def _tensor(data: NDArray[np.uint8], entry: Mapping[str, Any]) -> NDArray[Any]:
    begin, end = entry["data_offsets"]
    shape, kind = tuple(entry["shape"]), np.dtype(_TYPES[entry["dtype"]])
    sound = all(type(number) is int and number >= 0 for number in (begin, end, *shape))
    if not sound or end > len(data) or end - begin != math.prod(shape) * kind.itemsize:
        raise ValueError(f"bytes {begin} to {end} of {len(data)} cannot be {kind} of shape {shape}")
    return data[begin:end].view(kind).reshape(shape)
