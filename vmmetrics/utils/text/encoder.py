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


@dataclass(frozen=True, slots=True)
class _Linear:
    weight: Floats  # (in, out)
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        return x @ self.weight + self.bias


@dataclass(frozen=True, slots=True)
class _Norm:
    weight: Floats
    bias: Floats
    epsilon: float

    def __call__(self, x: Floats) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = np.square(centred).mean(axis=-1, keepdims=True)
        normed: Floats = centred / np.sqrt(variance + np.float32(self.epsilon)) * self.weight + self.bias
        return normed


@dataclass(frozen=True, slots=True)
class _Block:
    projected: _Linear  # queries, keys and values side by side
    merged: _Linear
    after_attention: _Norm
    widened: _Linear
    narrowed: _Linear
    after_network: _Norm


class Encoder:
    """The encoder: numbers of tokens in, a vector for each out.

    Args:
        tensors: Weights by name, without a prefix before ``embeddings`` and ``encoder``.
        shape: Their shape.

    Raises:
        SetupError: A weight is missing or has another shape.
    """

    def __init__(self, tensors: Mapping[str, NDArray[Any]], shape: Shape) -> None:
        weights = _Weights(tensors, shape)
        self.shape = shape
        self._words = weights.array("embeddings.word_embeddings.weight", (-1, shape.width))
        positions = weights.array("embeddings.position_embeddings.weight", (shape.positions, shape.width))
        first_kind = weights.array("embeddings.token_type_embeddings.weight", (-1, shape.width))[0]
        self._positions: Floats = positions + first_kind
        self._norm = weights.norm("embeddings.LayerNorm")
        self._blocks = [weights.block(f"encoder.layer.{number}") for number in range(shape.layers)]

    @property
    def vocabulary(self) -> int:
        """How many tokens there are."""
        return len(self._words)

    def __call__(self, tokens: NDArray[np.int64]) -> Floats:
        """Encode texts of one length.

        Args:
            tokens: (N, T) numbers below the vocabulary's size, T at most ``shape.positions``. Texts of one length need
                no padding, so that a text's vector does not depend on what stands beside it.

        Returns:
            (N, T, width).
        """
        x = self._norm(self._words[tokens] + self._positions[: tokens.shape[1]])
        for block in self._blocks:
            x = block.after_attention(x + block.merged(self._attended(block.projected(x))))
            x = block.after_network(x + block.narrowed(gelu(block.widened(x))))
        return x

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


class _Weights:
    """Weights by name, looked at before they are used."""

    def __init__(self, tensors: Mapping[str, NDArray[Any]], shape: Shape) -> None:
        self._tensors = tensors
        self._shape = shape

    def array(self, name: str, shape: tuple[int, ...]) -> Floats:
        found = self._tensors.get(name)
        if found is None:
            raise SetupError(f"The weights lack {name}: they are not a BERT's")
        fits = len(found.shape) == len(shape) and all(a in (b, -1) for a, b in zip(shape, found.shape, strict=True))
        if not fits or found.dtype != np.float32:
            raise SetupError(f"Expected {name} to be float32 of shape {shape} but got {found.dtype} of {found.shape}")
        return found

    def norm(self, name: str) -> _Norm:
        width = (self._shape.width,)
        return _Norm(self.array(f"{name}.weight", width), self.array(f"{name}.bias", width), self._shape.epsilon)

    def linear(self, name: str, inputs: int, outputs: int) -> _Linear:
        weight = self.array(f"{name}.weight", (outputs, inputs))
        return _Linear(np.ascontiguousarray(weight.T), self.array(f"{name}.bias", (outputs,)))

    def block(self, name: str) -> _Block:
        width, inner = self._shape.width, self._shape.inner
        parts = [self.linear(f"{name}.attention.self.{part}", width, width) for part in ("query", "key", "value")]
        together = _Linear(
            np.concatenate([part.weight for part in parts], axis=1), np.concatenate([part.bias for part in parts])
        )
        return _Block(
            projected=together,
            merged=self.linear(f"{name}.attention.output.dense", width, width),
            after_attention=self.norm(f"{name}.attention.output.LayerNorm"),
            widened=self.linear(f"{name}.intermediate.dense", width, inner),
            narrowed=self.linear(f"{name}.output.dense", inner, width),
            after_network=self.norm(f"{name}.output.LayerNorm"),
        )
