"""The classifier that the ladder trained: a sum of ramps, each of which can only count against a clip.

    e[f] = (x[f] − centre[f] − slope[f] · (travel − its centre)) / scale[f]
    z = Σ_f Σ_r w[r, f] · ramp_r(e[f]),   P(at least k levels below Perfect) = σ(z − θ_k)

The slopes say how each number grows in clean clips the farther content moves; only what goes beyond is evidence.

The weights are not negative and every number is "more is worse", so that worse evidence never raises a score and a clip
unlike any rung of the ladder is judged by the same rule. That is what keeps so small a training set honest.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vmmetrics.errors import SetupError
from vmmetrics.perception.embedded.plausibility_summary import NAMES
from vmmetrics.types import FloatArray

WEIGHTS = "cas-ladder"
RAMPS = ((-2.0, 1.0), (0.0, 2.0), (1.5, 4.5))
"""Where each ramp begins and ends, in spreads from what is usual in clean clips: better than that, worse, far worse."""
LEVEL_COUNT = 5


@dataclass(frozen=True)
class OrdinalModel:
    """The trained classifier.

    Attributes:
        centre: (F,) what is usual in clean clips.
        slope: (F,) how it grows there with the travel of the content, not negative.
        scale: (F,) spread over the ladder.
        weights: (len(RAMPS), F), none negative.
        thresholds: (4,) ascending: below Perfect, Good, Fair, Poor.
    """

    centre: FloatArray
    slope: FloatArray
    scale: FloatArray
    weights: FloatArray
    thresholds: FloatArray

    def badness(self, numbers: FloatArray) -> FloatArray:
        """Return z (N,) of the numbers (N, F) of views."""
        return np.asarray(self.shares(numbers).sum(1))

    def shares(self, numbers: FloatArray) -> FloatArray:
        """Return (N, F): what each number adds to z."""
        ramps = ramped(self.standard(numbers))
        return np.asarray(np.einsum("rnf,rf->nf", ramps, self.weights))

    def standard(self, numbers: FloatArray) -> FloatArray:
        """Return (N, F): by how many spreads each number exceeds what is usual at this travel; NaN where unknown."""
        return standardised(numbers, self.centre, self.slope, self.scale)

    def probabilities(self, numbers: FloatArray) -> FloatArray:
        """Return (N, 5) float64, Bad to Perfect, for the numbers (N, F) of views."""
        below = sigmoid(self.badness(numbers)[:, None] - self.thresholds)
        ones, zeros = np.ones((len(below), 1)), np.zeros((len(below), 1))
        steps = np.concatenate([ones, below, zeros], axis=1)
        return np.asarray((steps[:, :-1] - steps[:, 1:])[:, ::-1])

    def save(self, path: Path) -> None:
        """Write the model to ``path``; the same model gives the same bytes."""
        np.savez(path, names=np.array(NAMES), **{name: getattr(self, name) for name in self.__dataclass_fields__})

    @classmethod
    def load(cls, path: Path) -> OrdinalModel:
        """Read a model.

        Raises:
            SetupError: The file was trained on other numbers than this version measures.
        """
        with np.load(path, allow_pickle=False) as stored:
            if stored["names"].tolist() != list(NAMES):
                raise SetupError(f"{path} was trained on other numbers than this version measures; train it again")
            return cls(**{name: stored[name] for name in cls.__dataclass_fields__})


def standardised(numbers: FloatArray, centre: FloatArray, slope: FloatArray, scale: FloatArray) -> FloatArray:
    """Return (N, F) numbers in spreads beyond what is usual at the travel in their last column."""
    farther = np.nan_to_num(numbers[:, -1:] - centre[-1])
    return np.asarray((numbers - centre - slope * farther) / scale)


def ramped(standard: FloatArray) -> FloatArray:
    """Return (len(RAMPS), N, F) of standardised numbers (N, F); an unknown (NaN) counts as usual."""
    known = np.nan_to_num(standard, nan=0.0, posinf=0.0, neginf=0.0)
    return np.stack([np.clip(known, low, high) - low for low, high in RAMPS])


def sigmoid(values: FloatArray) -> NDArray[np.float64]:
    """Return 1 / (1 + exp(-values)) without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(values / 2)), np.float64)
