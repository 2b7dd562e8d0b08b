"""RTMDet and RTMPose through mmdet and mmpose, for those who have them installed.

They give what :mod:`.rtm` gives (docs/vmbench-preset.md has the differences measured); that module needs neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.errors import SetupError
from vmmetrics.perception.vmbench.adapters.rtm import PERSON_SCORE, persons
from vmmetrics.perception.vmbench.checkpoints import read_weights
from vmmetrics.perception.vmbench.ported.rtm_networks import RTMDET_NAME, RTMPOSE_NAME
from vmmetrics.perception.vmbench.runtime import CachedModel, DeviceCache, cache_on
from vmmetrics.types import FloatArray, UInt8Array

_DETECTOR_BYTES, _POSE_BYTES = 24_700_000 * 4, 13_600_000 * 4


class MMDetPersons:
    """A detector of mmdet whose class 0 is people: boxes of people.

    Args:
        config: mmdet's configuration: a file (mmpose's ``rtmdet_m_640-8xb32_coco-person.py``) or one that is loaded.
        source: Its checkpoint.
        device: Where it runs; None takes a GPU where there is one.
        cache: Whom it shares the device with; None for nobody.
    """

    def __init__(
        self, config: Any, source: str | Path, device: str | None = None, cache: DeviceCache | None = None
    ) -> None:
        self._config, self._source = config, Path(source)
        cache = cache or cache_on(device)
        self._model: CachedModel[Any] = CachedModel("RTMDet", self._load, _DETECTOR_BYTES, cache)

    def boxes(self, frames: UInt8Array) -> list[FloatArray]:
        """Return per frame of (T, H, W, 3) uint8 RGB (N, 5) float64: x0, y0, x1, y1 in pixels and score, best first.

        Raises:
            SetupError: A package or the checkpoint is missing or wrong.
        """
        model = self._model.get()
        inference_detector = _package("mmdet.apis").inference_detector
        answers: list[FloatArray] = []
        for frame in frames:
            found = inference_detector(model, np.ascontiguousarray(frame[..., ::-1])).pred_instances.cpu().numpy()
            rows = np.column_stack([found.bboxes, found.scores])[(found.labels == 0) & (found.scores > PERSON_SCORE)]
            answers.append(persons(rows.reshape(-1, 5)).astype(np.float64))
        return answers

    def _load(self) -> Any:
        model = _package("mmdet.apis").init_detector(self._config, None, device=str(self._model.cache.device))
        model.cfg = _package("mmpose.utils").adapt_mmdet_pipeline(model.cfg)
        return _filled(model, self._source, RTMDET_NAME)


class MMPoseKeypoints:
    """A top-down estimator of mmpose: keypoints of people in boxes.

    Args:
        config: mmpose's configuration: a file (``rtmpose-m_8xb256-420e_body8-256x192.py``) or one that is loaded.
        source: Its checkpoint.
        device: Where it runs; None takes a GPU where there is one.
        cache: Whom it shares the device with; None for nobody.
    """

    def __init__(
        self, config: Any, source: str | Path, device: str | None = None, cache: DeviceCache | None = None
    ) -> None:
        self._config, self._source = config, Path(source)
        cache = cache or cache_on(device)
        self._model: CachedModel[Any] = CachedModel("RTMPose", self._load, _POSE_BYTES, cache)

    def keypoints(self, frame: UInt8Array, boxes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return (N, 17, 2) float64 pixels in COCO order and (N, 17) scores, for boxes (N, 4) of the frame.

        Raises:
            SetupError: A package or the checkpoint is missing or wrong.
        """
        if not len(boxes):  # mmpose would take the whole frame
            return np.empty((0, 17, 2)), np.empty((0, 17))
        model = self._model.get()
        corners = np.asarray(boxes, np.float32)[:, :4]
        found = _package("mmpose.apis").inference_topdown(model, np.ascontiguousarray(frame[..., ::-1]), corners)
        points = np.concatenate([one.pred_instances.keypoints for one in found]).astype(np.float64)
        return points, np.concatenate([one.pred_instances.keypoint_scores for one in found]).astype(np.float64)

    def in_frames(self, frames: UInt8Array, boxes: Sequence[FloatArray]) -> list[tuple[FloatArray, FloatArray]]:
        """Do :meth:`keypoints` for each frame."""
        return [self.keypoints(frame, of_frame) for frame, of_frame in zip(frames, boxes, strict=True)]

    def _load(self) -> Any:
        changes = {"model": {"backbone": {"init_cfg": None}}}  # else the backbone's weights are fetched first
        init_model = _package("mmpose.apis").init_model
        model = init_model(self._config, None, device=str(self._model.cache.device), cfg_options=changes)
        return _filled(model, self._source, RTMPOSE_NAME)


def _filled(model: Any, source: Path, name: str) -> Any:
    try:
        model.load_state_dict(read_weights(source, "state_dict", name), strict=True)
    except RuntimeError as error:
        raise SetupError(f"{source}: the checkpoint does not fit its configuration: {error}") from error
    return model.eval()


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise SetupError(
            f"mmpose and mmdet cannot be imported ({error}); they need numpy below 2. Use "
            "vmmetrics.perception.vmbench.adapters.rtm, or see https://mmpose.readthedocs.io/en/latest/installation.html"
        ) from error
