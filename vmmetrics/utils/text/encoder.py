"""BERT's encoder in numpy (Devlin et al., 2019; Vaswani et al., 2017), for weights under Hugging Face's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from vmmetrics.errors import SetupError

Floats = NDArray[np.float32]

_HALF_ROOT: Final = np.float32(1 / np.sqrt(2))


@dataclass(frozen=True, slots=True)
class Shape:
    """What a model's ``config.json`` says of it.

    Attributes:
        layers: Blocks of attention and feed-forward network.
        heads: Of attention, in each block.
        width: Numbers of a token's vector.
        inner: Width of the feed-forward networks.
        positions: Most tokens of a text.
        epsilon: Added to a variance before its root.
    """

    layers: int
    heads: int
    width: int
    inner: int
    positions: int
    epsilon: float

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """Take the shape from a configuration.

        Raises:
            SetupError: It is none of a BERT with exact GELU and absolute positions.
        """
        kind = config.get("model_type"), config.get("hidden_act"), config.get("position_embedding_type", "absolute")
        if kind != ("bert", "gelu", "absolute"):
            raise SetupError(f"Expected a BERT with gelu and absolute positions but got {kind}")
        layers, heads, width, inner, positions = (_whole(config, name) for name in _NUMBERS)
        if width % heads:
            raise SetupError(f"Expected heads that divide the width but got {heads} and {width}")
        return cls(layers, heads, width, inner, positions, float(config.get("layer_norm_eps", 1e-12)))


_NUMBERS: Final = (
    "num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "max_position_embeddings",
)  # fmt: skip


def _whole(config: Mapping[str, Any], name: str) -> int:
    number = config.get(name)
    if type(number) is not int or number < 1:
        raise SetupError(f"Expected {name} to be a whole number above 0 but got {number!r}")
    return number


class Encoder:
    """The encoder: numbers of tokens in, a vector for each out.

    Args:
        tensors: Weights by name, without a prefix before ``embeddings`` and ``encoder``.
        shape: Their shape.

    Raises:
        SetupError: A weight is missing or has another shape.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], shape: Shape) -> None:
        self.shape = shape
        self._norms: dict[str, tuple[Floats, Floats]] = {}
        self._linears: dict[str, tuple[Floats, Floats]] = {}  # (in, out) and (out,)
        width = shape.width
        self._words = _array(tensors, "embeddings.word_embeddings.weight", (-1, width))
        positions = _array(tensors, "embeddings.position_embeddings.weight", (shape.positions, width))
        first_kind = _array(tensors, "embeddings.token_type_embeddings.weight", (-1, width))[0]
        self._positions: Floats = positions + first_kind
        self._take_norm(tensors, "embeddings")
        for block in self._blocks:
            parts = [f"{block}.attention.self.{part}" for part in ("query", "key", "value")]
            for part in parts:
                self._take_linear(tensors, part, width, width)
            both = zip(*(self._linears.pop(part) for part in parts), strict=True)
            weight, bias = (np.concatenate(side, axis=-1) for side in both)
            self._linears[f"{block}.projected"] = weight, bias  # queries, keys and values side by side
            self._take_linear(tensors, f"{block}.attention.output.dense", width, width)
            self._take_norm(tensors, f"{block}.attention.output")
            self._take_linear(tensors, f"{block}.intermediate.dense", width, shape.inner)
            self._take_linear(tensors, f"{block}.output.dense", shape.inner, width)
            self._take_norm(tensors, f"{block}.output")

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return len(self._words)

    @property
    def _blocks(self) -> list[str]:
        return [f"encoder.layer.{number}" for number in range(self.shape.layers)]

    def __call__(self, tokens: NDArray[np.int64]) -> Floats:
        """Encode texts of one length.

        Args:
            tokens: (N, T) numbers below the vocabulary's size, T at most ``shape.positions``. Texts of one length need
                no padding, so that a text's vector does not depend on what stands beside it.

        Returns:
            (N, T, width).
        """
        x = self._normed("embeddings", self._words[tokens] + self._positions[: tokens.shape[1]])
        for block in self._blocks:
            mixed = self._attended(self._linear(f"{block}.projected", x))
            x = self._normed(f"{block}.attention.output", x + self._linear(f"{block}.attention.output.dense", mixed))
            wide = gelu(self._linear(f"{block}.intermediate.dense", x))
            x = self._normed(f"{block}.output", x + self._linear(f"{block}.output.dense", wide))
        return x

    def _take_norm(self, tensors: Mapping[str, NDArray[Any]], name: str) -> None:
        width = (self.shape.width,)
        weight, bias = (_array(tensors, f"{name}.LayerNorm.{part}", width) for part in ("weight", "bias"))
        self._norms[name] = weight, bias

    def _take_linear(self, tensors: Mapping[str, NDArray[Any]], name: str, inputs: int, outputs: int) -> None:
        weight = np.ascontiguousarray(_array(tensors, f"{name}.weight", (outputs, inputs)).T)
        self._linears[name] = weight, _array(tensors, f"{name}.bias", (outputs,))

    def _linear(self, name: str, x: Floats) -> Floats:
        weight, bias = self._linears[name]
        return x @ weight + bias

    def _normed(self, name: str, x: Floats) -> Floats:
        weight, bias = self._norms[name]
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        normed: Floats = centred / np.sqrt(variance + np.float32(self.shape.epsilon)) * weight + bias
        return normed

    def _attended(self, projected: Floats) -> Floats:
        """Mix values by how well keys fit queries: (N, T, 3 width) to (N, T, width)."""
        texts, length, _ = projected.shape
        heads = self.shape.heads
        size = self.shape.width // heads
        parts = projected.reshape(texts, length, 3, heads, size).transpose(2, 0, 3, 1, 4)
        queries, keys, values = parts  # (N, heads, T, size) each
        fit = queries @ keys.swapaxes(-1, -2) / np.float32(np.sqrt(size))
        share = np.exp(fit - fit.max(axis=-1, keepdims=True))
        share /= share.sum(axis=-1, keepdims=True)
        mixed: Floats = (share @ values).transpose(0, 2, 1, 3).reshape(texts, length, heads * size)
        return mixed


def gelu(x: Floats) -> Floats:
    """The exact Gaussian error linear unit, x Phi(x) (Hendrycks and Gimpel, 2016)."""
    half = np.float32(0.5)
    out: Floats = x * half * (np.float32(1) + erf(x * _HALF_ROOT))
    return out


def _array(tensors: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> Floats:
    """A weight, looked at before it is used; -1 stands for any size."""
    found = tensors.get(name)
    if found is None:
        raise SetupError(f"The weights lack {name}: they are not a BERT's")
    fits = len(found.shape) == len(shape) and all(a in (b, -1) for a, b in zip(shape, found.shape, strict=True))
    if not fits or found.dtype != np.float32:
        raise SetupError(f"Expected {name} to be float32 of shape {shape} but got {found.dtype} of {found.shape}")
    return found
