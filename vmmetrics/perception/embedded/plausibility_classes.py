"""What frames show, by name: the probabilities of ImageNet's classes, place by place, and whether they keep.

A thing stays what it is. Where a place is a dog in one frame and a rug in the next, along its motion, something melts
or is drawn anew; flames and water, which keep no shape, mostly stay flames and water (glitter on water less so).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vmmetrics.types import FloatArray
from vmmetrics.weights import weight_path

WEIGHTS = "efficientnet-lite0-head"
_DIGITS = 9  # decimals of what is handed on: matrix products of different machines and threads differ below


@dataclass(frozen=True)
class ClassHead:
    """The last layers of EfficientNet-lite0, applied to every cell of its deepest map.

    Attributes:
        widen: (320, 1280) 1 × 1 convolution, batch normalisation folded in.
        widen_bias: (1280,).
        classes: (1280, 1000) linear layer.
        classes_bias: (1000,).
    """

    widen: NDArray[np.float64]
    widen_bias: NDArray[np.float64]
    classes: NDArray[np.float64]
    classes_bias: NDArray[np.float64]

    def cells(self, wide: FloatArray) -> NDArray[np.float64]:
        """Return probabilities (..., 1000) of widened features (..., 1280), each cell by itself."""
        logits = wide.reshape(-1, wide.shape[-1]) @ self.classes + self.classes_bias
        return _softmax(logits.reshape(*wide.shape[:-1], -1))

    def frames(self, wide: FloatArray) -> NDArray[np.float64]:
        """Return probabilities (n, 1000) of whole frames from (n, rows, columns, 1280), as in training."""
        return _softmax(wide.mean((1, 2)) @ self.classes + self.classes_bias)

    def widened(self, features: FloatArray) -> NDArray[np.float64]:
        """Return (..., 1280) of features (..., 320), what both of the others start from."""
        rows = features.reshape(-1, features.shape[-1]).astype(np.float64)  # one product is faster than many small ones
        wide = np.clip(rows @ self.widen + self.widen_bias, 0, 6)
        return np.asarray(wide.reshape(*features.shape[:-1], -1))


@cache
def load_head() -> ClassHead:
    """Return the head that ships."""
    with np.load(weight_path(WEIGHTS), allow_pickle=False) as stored:
        return ClassHead(*(stored[name].astype(np.float64) for name in ClassHead.__dataclass_fields__))


def divergence(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the Jensen-Shannon divergence (...) of distributions (..., K), 0 to log 2 nats."""
    both = entropy((first + second) / 2) - (entropy(first) + entropy(second)) / 2
    return np.asarray(np.round(np.maximum(both, 0), _DIGITS))


def entropy(distribution: FloatArray) -> FloatArray:
    """Return the entropy (...) of distributions (..., K) in nats."""
    return np.asarray(-(distribution * np.log(distribution + 1e-12)).sum(-1))


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))
