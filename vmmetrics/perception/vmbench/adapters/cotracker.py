"""Points followed by CoTracker3 offline, out of the user's own installation.

Code and weights are CC-BY-NC 4.0: nothing of them is here, and they are imported only when points are asked for. The
predictor is called the released way, less what changes no bit: no backward pass where points are taken in frame 0, and
the features of a clip, which no query changes, are computed once for all query sets of one precision, backwards too.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from vmmetrics.errors import SetupError
from vmmetrics.functional.pas import MIN_POINTS_AFFINE, MIN_POINTS_HOMOGRAPHY, estimate_camera, project
from vmmetrics.perception.points import (
    intermittent_objects,
    key_moments,
    moving_queries,
    object_queries,
    spread_queries,
)
from vmmetrics.perception.scene import Camera, PointTracks, Scene
from vmmetrics.perception.vmbench.runtime import ACTIVATIONS, CachedModel, DeviceCache, on_device
from vmmetrics.types import BoolArray, FloatArray, UInt8Array
from vmmetrics.utils.tensors import reading

WINDOW = 60
"""Frames that the checkpoint's time encoding is for; other lengths are interpolated to."""

CHECKOUT = "VMMETRICS_COTRACKER"
"""Environment variable that names a checkout of facebookresearch/co-tracker."""

HOW_TO_INSTALL = (
    "CoTracker3 is not installed. Its code and weights are CC-BY-NC 4.0, for non-commercial use only, which is why "
    "they do not come with vmmetrics. If that suits you: "
    "pip install git+https://github.com/facebookresearch/co-tracker "
    f"(or set {CHECKOUT} to a checkout of it), then: vmmetrics weights fetch cotracker3-offline"
)

WEIGHT_BYTES = 25_385_700 * 4
SUPPORT_POINTS = 36
"""That CoTracker adds to those asked for."""
POINT_BYTES = 3 * 49 * 128 * 4
"""That a point takes in a frame: its correlation with 7 x 7 places in 128 channels, float32, three copies at once."""
RESIZED_AT_ONCE = 16
"""Frames resized in one go, so that a long clip of large frames is never on the device as floats."""


def find_cotracker() -> Path | None:
    """Return the checkout to import from: the one named, or torch.hub's; None where the package is installed.

    Raises:
        SetupError: There is neither.
    """
    named = os.environ.get(CHECKOUT)
    if named:
        if not (Path(named) / "cotracker" / "predictor.py").is_file():
            raise SetupError(f"{CHECKOUT}={named}: no cotracker/predictor.py there; {HOW_TO_INSTALL}")
        return Path(named)
    if importlib.util.find_spec("cotracker") is not None:
        return None
    fetched = sorted(Path(torch.hub.get_dir()).glob("facebookresearch_co-tracker_*/cotracker/predictor.py"))
    if not fetched:
        raise SetupError(HOW_TO_INSTALL)
    return fetched[0].parents[1]


def released_predictor(checkpoint: Path) -> Any:
    """Build CoTracker's own predictor as the released scripts do, on the CPU.

    Raises:
        SetupError: CoTracker is not installed, or the checkpoint does not hold its weights.
    """
    checkout = find_cotracker()
    try:
        with _importable(checkout):
            module = importlib.import_module("cotracker.predictor")
    except ImportError as error:
        raise SetupError(f"CoTracker cannot be imported ({error}). {HOW_TO_INSTALL}") from error
    mend = "remove it and fetch it again with: vmmetrics weights fetch cotracker3-offline"
    if not checkpoint.is_file():
        raise SetupError(f"{checkpoint}: no such checkpoint; fetch it with: vmmetrics weights fetch cotracker3-offline")
    with reading(f"{checkpoint}: not CoTracker3 offline's weights; {mend}. torch says"):
        return module.CoTrackerPredictor(checkpoint=str(checkpoint), v2=False, offline=True, window_len=WINDOW)


class CoTracker:
    """Points followed through a clip by CoTracker3 offline.

    Args:
        checkpoint: ``scaled_offline.pth``.
        cache: The device and the models that share it.
        build: Makes the predictor of a checkpoint.
    """

    def __init__(self, checkpoint: Path, cache: DeviceCache, build: Callable[[Path], Any] = released_predictor) -> None:
        def load() -> _Loaded:
            return _Loaded(build(checkpoint), cache.device)

        self._model = CachedModel("CoTracker3", load, WEIGHT_BYTES, cache, lambda loaded: loaded.forget())
        self._lock = RLock()

    def grid(
        self, frames: UInt8Array, side: int, frame: int, mask: UInt8Array | None, *, half: bool = False
    ) -> PointTracks:
        """Follow the points of CoTracker's own regular grid that lie on the mask, supported by its own extra points.

        Args:
            frames: (T, H, W, 3) uint8 RGB.
            side: Points along each side of the grid.
            frame: Frame that they are taken in; where it is not the first, they are followed backwards too.
            mask: (H, W) uint8, not 0 where points are wanted; None for everywhere. No point may lie on it.
            half: In bfloat16, as the released TCS; else in float32, as the released PAS.

        Raises:
            SetupError: CoTracker or its checkpoint is missing.
        """
        with self._lock:
            loaded = self._model.get()
            options: dict[str, Any] = {"grid_size": side, "grid_query_frame": frame, "backward_tracking": frame > 0}
            if mask is not None:
                mask_tensor = torch.from_numpy(mask)[None, None].to(loaded.device)
                options["segm_mask"] = functional.interpolate(mask_tensor, loaded.size, mode="nearest")
            share = 1.0 if mask is None else float((mask > 0).mean())
            xy, visible = self._run(frames, options, round(share * side**2), half=half)
            return PointTracks(xy, visible, np.full(xy.shape[1], frame, np.int64))

    def points(self, frames: UInt8Array, queries: FloatArray) -> PointTracks:
        """Follow ``queries`` (N, 3), frame index, x, y in pixels, through the whole clip, in float32.

        Raises:
            SetupError: CoTracker or its checkpoint is missing.
        """
        when = queries[:, 0].astype(np.int64)
        if len(queries) == 0:
            return PointTracks.none(len(frames))
        with self._lock:
            loaded = self._model.get()
            asked = torch.as_tensor(queries, dtype=torch.float32, device=loaded.device)[None].clone()
            (height, width), (rows, columns) = frames.shape[1:3], loaded.size
            asked[:, :, 1:] *= asked.new_tensor([(columns - 1) / (width - 1), (rows - 1) / (height - 1)])
            backward = bool((when > 0).any())
            xy, visible = self._run(frames, {"queries": asked, "backward_tracking": backward}, len(when), half=False)
            return PointTracks(xy, visible, when)

    def _run(self, frames: UInt8Array, asked: dict[str, Any], count: int, *, half: bool) -> tuple[FloatArray, Any]:
        """Ask the predictor about ``count`` points."""
        needed = ACTIVATIONS[self._model.name] + len(frames) * (count + SUPPORT_POINTS) * POINT_BYTES
        loaded = self._model.get(needed)
        return self._model.guarded(lambda: loaded.ask(frames, asked, half=half))


class _Loaded:
    """The predictor on its device, with :class:`_SharedFeatures` in the place of its feature net.

    Of the clip that was asked about last it keeps the frames as CoTracker sees them, and their features.
    """

    def __init__(self, predictor: Any, device: torch.device) -> None:
        self.predictor, self.device = predictor.to(device).eval().requires_grad_(False), device
        self.shared = self.predictor.model.fnet = _SharedFeatures(self.predictor.model.fnet)
        self.frames: weakref.ref[UInt8Array] | None = None
        self.video = torch.zeros(0)
        self.features: dict[bool, Tensor] = {}

    @property
    def size(self) -> tuple[int, int]:
        """Height and width that it resizes every frame to."""
        height, width = self.predictor.interp_shape
        return int(height), int(width)

    def forget(self) -> torch.nn.Module:
        """Forget the last clip; return the module that holds all weights."""
        self.frames, self.video, self.features, self.shared.features = None, torch.zeros(0), {}, torch.zeros(0)
        module: torch.nn.Module = self.predictor
        return module

    def ask(self, frames: UInt8Array, asked: dict[str, Any], *, half: bool) -> tuple[FloatArray, Any]:
        """Return (T, N, 2) float64 clip pixels and (T, N) bool."""
        if self.frames is None or self.frames() is not frames:
            self.frames, self.video, self.features = None, torch.zeros(0), {}  # before the next one's are made
            parts = []  # 0..255, of the size that makes the predictor's own resizing change nothing
            for start in range(0, len(frames), RESIZED_AT_ONCE):
                part = on_device(frames[start : start + RESIZED_AT_ONCE], self.device)
                pixels = part.permute(0, 3, 1, 2).float()
                parts.append(functional.interpolate(pixels, self.size, mode="bilinear", align_corners=True))
            self.frames, self.video = weakref.ref(frames), torch.cat(parts)[None]
        autocast = torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=half)
        self.shared.expect(len(frames), self.features.get(half))
        with torch.no_grad(), autocast:
            tracks, visible = self.predictor(self.video, **asked)
        self.features[half] = self.shared.features
        (height, width), (rows, columns) = frames.shape[1:3], self.size
        tracks *= tracks.new_tensor([(width - 1) / (columns - 1), (height - 1) / (rows - 1)])
        return tracks[0].double().cpu().numpy(), visible[0].cpu().numpy()


class _SharedFeatures(torch.nn.Module):  # type: ignore[misc]
    """CoTracker's feature net, run on a clip's frames once and answering from memory afterwards.

    The net sees the frames in order, and, where points are followed backwards, all of them once more in reverse; it
    looks at each by itself.
    """

    def __init__(self, net: torch.nn.Module) -> None:
        super().__init__()
        self.net = net
        self.features = torch.zeros(0)
        self._cached = False
        self._length = self._position = 0

    def expect(self, length: int, features: Tensor | None) -> None:
        """Make ready for one call of the predictor on ``length`` frames, whose features may be known."""
        self._length, self._position, self._cached = length, 0, features is not None
        self.features = torch.zeros(0) if features is None else features

    def forward(self, images: Tensor) -> Tensor:
        """Return the features of the next frames."""
        start, stop = self._position, self._position + len(images)
        self._position = stop
        if start >= self._length:  # backwards
            return self.features[2 * self._length - stop : 2 * self._length - start].flip(0)
        if not self._cached:
            new: Tensor = self.net(images)
            self.features = torch.cat([self.features.to(new), new]) if start else new
            return new
        return self.features[start:stop]


@contextmanager
def _importable(checkout: Path | None) -> Iterator[None]:
    if checkout is not None:
        sys.path.insert(0, str(checkout))
    try:
        yield
    finally:
        if checkout is not None:
            sys.path.remove(str(checkout))


# All points of a clip in one pass of the tracker, and the camera from those on the background.
#
# For ``protocol="vmmetrics"`` alone: points attend to each other, so points asked for together go elsewhere, by a
# little, than each set by itself would. Which metrics are wanted makes no difference to what is asked together.

CAMERA_POINTS = 240
"""On the background, over all key frames: ten times what a homography needs, as much of it may be out of view."""

CLEAR_OF_OBJECTS = 1 / 40
"""Of the map's longer side that background points keep from objects, whose masks end a little early."""

FOLLOWS = 0.004
"""Of the frame's diagonal, 3.5 pixels of 720 x 480: a background point that misses the model by less follows it."""


@dataclass(frozen=True)
class SharedPoints:
    """A :class:`~vmmetrics.perception.scene.Tracker`.

    Attributes:
        points: Who follows them.
    """

    points: CoTracker

    def track(self, scene: Scene, queries: FloatArray) -> PointTracks:
        """Track ``queries`` (N, 3): frame index, x, y in clip pixels; with all others if it is a set that is known."""
        sets, tracks = scene.once("all points", lambda: self._together(scene))
        start = 0
        for query_set in sets:
            stop = start + len(query_set)
            if np.array_equal(query_set, queries):
                return PointTracks(
                    tracks.xy[:, start:stop], tracks.visible[:, start:stop], tracks.query_frames[start:stop]
                )
            start = stop
        return self.points.points(scene.clip.frames, queries)

    def _together(self, scene: Scene) -> tuple[Sequence[FloatArray], PointTracks]:
        objects = scene.objects
        of_objects = [object_queries(objects, item) for item in intermittent_objects(objects)]
        sets = [background_queries(scene), moving_queries(scene), *of_objects]
        return sets, self.points.points(scene.clip.frames, np.concatenate(sets))


class BackgroundCamera:
    """A :class:`~vmmetrics.perception.scene.CameraEstimator`: what the points on the background have in common."""

    def estimate(self, scene: Scene) -> Camera:
        """Return the camera motion of every frame pair."""
        tracks = scene.track("background", background_queries(scene))
        homographies, is_estimated = estimate_camera(tracks.xy, tracks.visible)
        shared: BoolArray = tracks.visible[:-1] & tracks.visible[1:]
        error = np.linalg.norm(project(homographies, tracks.xy[:-1]) - tracks.xy[1:], axis=-1)
        follows = error <= FOLLOWS * np.hypot(scene.clip.width, scene.clip.height)
        count = shared.sum(axis=1)
        inliers = (shared & follows).sum(axis=1) / np.maximum(count, 1)
        kinds = tuple(_kind(int(n)) if k else "unknown" for n, k in zip(count, is_estimated, strict=True))
        return Camera(homographies, kinds, inliers)


def background_queries(scene: Scene) -> FloatArray:
    """Return (N, 3) queries off all objects, taken all along the clip."""
    objects = scene.objects
    keys = key_moments(len(scene.clip), scene.clip.fps)
    reach = 1 + 2 * round(max(objects.labels.shape[1:]) * CLEAR_OF_OBJECTS)
    near = [cv2.dilate((objects.labels[key] > 0).astype(np.uint8), np.ones((reach, reach), np.uint8)) for key in keys]
    return spread_queries(np.stack(near) == 0, objects.scale, keys, CAMERA_POINTS)


def _kind(points: int) -> str:
    """Return the model that :func:`~vmmetrics.functional.pas.estimate_camera` fits to so many points."""
    if points >= MIN_POINTS_HOMOGRAPHY:
        return "homography"
    return "affine" if points >= MIN_POINTS_AFFINE else "translation"
