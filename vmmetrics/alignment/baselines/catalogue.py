"""Catalogue of baselines: name, unit, direction, source, and how each is measured on a scene."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.baselines import formulas, natural_scenes
from vmmetrics.metrics import METRICS
from vmmetrics.metrics.registry import find
from vmmetrics.perception.scene import Flow, Scene
from vmmetrics.types import FloatArray

# What each baseline that needs no download takes from a scene; perception and pictures are shared among them.

FlowOf = Callable[[Scene], Flow]
"""Function that returns the flow of a scene with at least two frames."""
ONE_FRAME = "one frame: nothing to compare it with"
_LEAST = 16
"""Minimum shorter side in pixels: at half size it still holds the window of the statistics."""


def ssim(scene: Scene) -> float | str:
    """Return SSIM of consecutive frames, grey levels by BT.601, at the clip's own size."""
    if min(scene.clip.width, scene.clip.height) <= 2 * formulas.RADIUS:
        return f"frames of less than {2 * formulas.RADIUS + 1} pixels a side"
    return ONE_FRAME if len(scene.clip) < 2 else formulas.ssim(grey_frames(scene))


def frame_difference(scene: Scene) -> float:
    """Return the mean absolute difference of consecutive frames, in colour, at the clip's own size."""
    return formulas.frame_difference(scene.clip.frames)


def temporal_flickering(scene: Scene) -> float:
    """Return VBench's temporal flickering."""
    return formulas.temporal_flickering(scene.clip.frames)


def flow_magnitude(scene: Scene, flow: FlowOf = attrgetter("flow")) -> float:
    """Return the mean speed of the picture, by the embedded flow or another."""
    return formulas.flow_magnitude(flow(scene).forward, scene.clip.timestamps)


def warping_error(scene: Scene, flow: FlowOf = attrgetter("flow")) -> float | str:
    """Return warping error, in colour, at the resolution of the flow."""
    flow_fields = flow(scene)
    frames = resized_frames(scene, flow_fields.images.shape[2], flow_fields.images.shape[1])
    error = formulas.warping_error(frames, flow_fields.forward, flow_fields.forward_valid)
    return "no two frames have a place that the flow can follow" if error is None else error


def forward_backward_error(scene: Scene, flow: FlowOf = attrgetter("flow")) -> float | str:
    """Return the disagreement of forward and backward flow."""
    error = formulas.forward_backward_error(flow(scene).forward, flow(scene).backward)
    return "the flow leaves the picture everywhere" if error is None else error


def track_survival(scene: Scene) -> float:
    """Return the share of points that can be followed through the clip and back."""
    flow = scene.flow
    return formulas.track_survival(flow.forward, flow.backward, flow.forward_valid, flow.backward_valid)


def brisque(scene: Scene) -> float | str:
    """Return BRISQUE of every frame, averaged."""
    if min(scene.clip.width, scene.clip.height) < _LEAST:
        return f"frames of less than {_LEAST} pixels a side"
    regression = natural_scenes.published_regression()
    return _mean(natural_scenes.brisque(natural_scenes.brisque_features(m), regression) for m in _frame_moments(scene))


def niqe(scene: Scene) -> float | str:
    """Return NIQE of every frame, averaged."""
    clip = scene.clip
    if min(clip.width, clip.height) < natural_scenes.LEAST_SIDE:
        return f"frames of less than {natural_scenes.LEAST_SIDE} pixels a side: too few blocks"
    pristine = natural_scenes.shipped_pristine()
    features = (natural_scenes.block_features(moments, clip.height, clip.width) for moments in _frame_moments(scene))
    return _mean(natural_scenes.niqe(blocks, pristine) for blocks in features)


def grey_frames(scene: Scene) -> NDArray[np.uint8]:
    """Return (T, H, W) grey frames at the clip's own size."""
    return scene.once("baselines:grey", lambda: in_grey(scene.clip.frames))


def in_grey(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return (T, H, W) grey levels of (T, H, W, 3) frames."""
    return np.stack([np.asarray(cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY), np.uint8) for frame in frames])


def resized_frames(scene: Scene, width: int, height: int) -> NDArray[np.uint8]:
    """Return (T, height, width, 3) frames at another size."""
    clip = scene.clip
    way = cv2.INTER_AREA if width <= clip.width and height <= clip.height else cv2.INTER_LINEAR

    def resized() -> NDArray[np.uint8]:
        frames = (cv2.resize(frame, (width, height), interpolation=way) for frame in clip.frames)
        return np.stack([np.asarray(frame, np.uint8) for frame in frames])

    return scene.once(f"baselines:{width}x{height}", resized)


def _frame_moments(scene: Scene) -> list[list[FloatArray]]:
    """Return statistics of every frame; a repeated frame has those of the one before."""

    def moments() -> list[list[FloatArray]]:
        by_frame: list[list[FloatArray]] = []
        frames = grey_frames(scene)
        for t, frame in enumerate(frames):
            repeated = t and np.array_equal(frame, frames[t - 1])
            by_frame.append(by_frame[-1] if repeated else natural_scenes.scene_moments(frame))
        return by_frame

    return scene.once("baselines:moments", moments)


def _mean(values: Iterable[float | None]) -> float | str:
    """Return the mean of the frames that have a value."""
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if defined else "no frame has texture enough for statistics of natural scenes"


BaselineMeasure = Callable[[Scene], float | str]
"""Function from a scene to a value, or to the reason why there is none."""
Loaded = tuple[Mapping[str, BaselineMeasure], Mapping[str, Any]]
"""Loaded family: measure of each baseline by name, and what values depend on (hashes, versions, settings) as JSON."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """One baseline.

    Attributes:
        name: Its key in every record and table.
        unit: Of its values.
        lower_is_better: Its direction; its values are left as they are.
        source: Where its definition comes from.
        measure: Measures it, or None where a model of the user's does.
        weights: Files it loads of those that are shipped.
        family: Which of :data:`FAMILIES` gives it, where one does.
        compares: Whether it compares frames: one alone then has no value, and is not measured.
    """

    name: str
    unit: str
    lower_is_better: bool
    source: str
    measure: BaselineMeasure | None = None
    weights: tuple[str, ...] = ()
    family: str | None = None
    compares: bool = True


CPU = (
    Baseline("ssim", "−1..1", False, "Wang et al. 2004", ssim, compares=False),
    Baseline("frame_difference", "levels of 255", True, "mean absolute difference", frame_difference),
    Baseline("temporal_flickering", "0..1", False, "VBench 2024", temporal_flickering),
    Baseline("flow_magnitude", "diagonals per second", False, "mean flow", flow_magnitude),
    Baseline("warping_error", "squared intensity, 0..1", True, "Lai et al. 2018", warping_error),
    Baseline("forward_backward_error", "‰ of the diagonal", True, "Sundaram et al. 2010", forward_backward_error),
    Baseline("track_survival", "share, 0..1", False, "flow followed there and back", track_survival),
    Baseline("brisque", "about 0..100", True, "Mittal et al. 2012", brisque, ("brisque-live",), compares=False),
    Baseline(
        "niqe", "distance", True, "Mittal et al. 2013, pristine model of ours", niqe, ("niqe-pristine",), compares=False
    ),
)
"""Baselines that need no download."""

FAMILIES: Mapping[str, str] = {
    "raft": "networks:load_raft",
    "clip_consistency": "networks:load_clip",
    "dino_consistency": "networks:load_dino",
    "film_smoothness": "networks:load_film",
    "dover": "networks:load_dover",
    "vlm_judge": "judge:load",
}
"""Loader ``module:function`` (in this folder) of each family on user weights or an endpoint; returns :data:`Loaded`."""

_OF_FAMILIES: tuple[tuple[str, str, str, bool, str], ...] = (
    ("raft", "raft_flow_magnitude", "diagonals per second", False, "mean flow by RAFT"),
    ("raft", "raft_warping_error", "squared intensity, 0..1", True, "Lai et al. 2018, flow by RAFT"),
    ("raft", "raft_forward_backward_error", "‰ of the diagonal", True, "Sundaram et al. 2010, flow by RAFT"),
    ("clip_consistency", "clip_consistency", "0..1", False, "VBench 2024, background consistency"),
    ("dino_consistency", "dino_consistency", "0..1", False, "VBench 2024, subject consistency"),
    ("film_smoothness", "film_smoothness", "0..1", False, "VBench 2024, motion smoothness, FILM for AMT"),
    ("dover", "dover", "network's output", False, "DOVER 2023, technical branch, before any rescaling"),
    *(
        ("vlm_judge", f"judge_{k}", "level, 1..5", False, "rating by a video language model")
        for k in METRICS
        if (m := find(k)) and m.question
    ),
)
BASELINES: Mapping[str, Baseline] = {b.name: b for b in CPU} | {
    name: Baseline(name, unit, lower, source, family=family, compares=family not in ("film_smoothness", "dover"))
    for family, name, unit, lower, source in _OF_FAMILIES
}
"""All baselines by name."""


def chosen(names: Sequence[str] | None, configured: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the baselines that names stand for, in the order of the catalogue.

    Args:
        names: Baselines and families; None stands for all that need no download.
        configured: Families with weights or settings from the user, included if ``names`` is None.

    Raises:
        ValueError: No such baseline or family.

    >>> chosen(["niqe", "ssim"])
    ('ssim', 'niqe')
    """
    selected = {b.name for b in CPU} if names is None else set()
    for name in configured if names is None else names:
        matching = {b.name for b in BASELINES.values() if name in (b.name, b.family)}
        if not matching:
            available = ", ".join([*(b.name for b in CPU), *FAMILIES])
            raise ValueError(f"Expected baselines among {available} but got {name!r}")
        selected |= matching
    return tuple(name for name in BASELINES if name in selected)
