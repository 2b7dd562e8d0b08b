"""What frames show, as deep features: the first stages of EfficientNet-lite0, trained on ImageNet, through LiteRT."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vmmetrics.perception.embedded.plausibility_views import SIDE
from vmmetrics.types import FloatArray
from vmmetrics.weights import weight_path

WEIGHTS = "efficientnet-lite0-stages"
STRIDES = (8, 16, 32)
"""Pixels per cell of the three feature maps, 40, 112 and 320 channels deep."""


@dataclass
class Backbone:
    """Frames to feature maps, one frame at a time so that no answer depends on its neighbours in a batch.

    Attributes:
        path: The LiteRT file; None takes the one that ships.
        threads: Threads to use; None leaves it to LiteRT.
    """

    path: Path | None = None
    threads: int | None = None
    _interpreter: Any = field(default=None, init=False, repr=False)
    _lock: Any = field(default_factory=Lock, init=False, repr=False)

    def features(self, images: NDArray[np.uint8]) -> tuple[FloatArray, ...]:
        """Return per stride of :data:`STRIDES` a (n, rows, columns, channels) float32 map.

        Args:
            images: (n, SIDE, SIDE, 3) uint8 RGB.
        """
        with self._lock:
            if self._interpreter is None:
                self._interpreter = self._load()
            given = self._interpreter.get_input_details()[0]["index"]
            outputs = sorted(self._interpreter.get_output_details(), key=lambda d: -d["shape"][1])
            maps: list[list[FloatArray]] = [[] for _ in outputs]
            for image in images:
                self._interpreter.set_tensor(given, image[None].astype(np.float32))
                self._interpreter.invoke()
                for kept, output in zip(maps, outputs, strict=True):
                    kept.append(self._interpreter.get_tensor(output["index"])[0].copy())
        return tuple(np.stack(kept) for kept in maps)

    def _load(self) -> Any:
        from ai_edge_litert.interpreter import Interpreter

        path = self.path or weight_path(WEIGHTS)
        interpreter = Interpreter(model_path=str(path), num_threads=self.threads)
        interpreter.allocate_tensors()
        shape = tuple(interpreter.get_input_details()[0]["shape"])
        if shape != (1, SIDE, SIDE, 3):
            raise ValueError(f"Expected a network for frames (1, {SIDE}, {SIDE}, 3) but got {shape}")
        return interpreter
