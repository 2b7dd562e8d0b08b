"""Every baseline there is: name, unit, direction, source, and how it is measured on a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from vmmetrics.alignment.baselines import formulas, natural_scenes
from vmmetrics.metrics import METRICS
from vmmetrics.perception.scene import Flow, Scene
from vmmetrics.types import FloatArray, MetricResult

# What each baseline that needs no download takes from a scene; perception and pictures are shared among them.

FlowOf = Callable[[Scene], Flow]
"""The flow of a scene, asked for only where there are two frames."""
ONE_FRAME = "one frame: nothing to compare it with"
FLAT = "no frame has texture enough for statistics of natural scenes"
_LEAST = 16
"""Pixels of the shorter side from which on a half-sized picture still holds the window of the statistics."""


def ssim(scene: Scene) -> MetricResult:
    """SSIM of consecutive frames, grey levels by BT.601, at the clip's own size."""
    if min(scene.clip.width, scene.clip.height) <= 2 * formulas.RADIUS:
        return MetricResult(None, f"frames of less than {2 * formulas.RADIUS + 1} pixels a side")
    return _of_pairs(scene, lambda: formulas.ssim(grey_frames(scene)))


def frame_difference(scene: Scene) -> MetricResult:
    """Mean absolute difference of consecutive frames, in colour, at the clip's own size."""
    return _of_pairs(scene, lambda: formulas.frame_difference(scene.clip.frames))


def temporal_flickering(scene: Scene) -> MetricResult:
    """VBench's temporal flickering."""
    return _of_pairs(scene, lambda: formulas.temporal_flickering(scene.clip.frames))


def flow_magnitude(scene: Scene, flow: FlowOf = attrgetter("flow")) -> MetricResult:
    """Mean speed of the picture, by the embedded flow or another."""
    return _of_pairs(scene, lambda: formulas.flow_magnitude(flow(scene).forward, scene.clip.timestamps))


def warping_error(scene: Scene, flow: FlowOf = attrgetter("flow")) -> MetricResult:
    """Warping error, in colour, at the resolution of the flow."""

    def error() -> float | None:
        found = flow(scene)
        size = found.images.shape[2], found.images.shape[1]
        return formulas.warping_error(resized_frames(scene, size), found.forward, found.forward_valid)

    return _of_pairs(scene, error, "no two frames have a place that the flow can follow")


def forward_backward_error(scene: Scene, flow: FlowOf = attrgetter("flow")) -> MetricResult:
    """Disagreement of forward and backward flow."""

    def error() -> float | None:
        return formulas.forward_backward_error(flow(scene).forward, flow(scene).backward)

    return _of_pairs(scene, error, "the flow leaves the picture everywhere")


def track_survival(scene: Scene) -> MetricResult:
    """Share of points that can be followed through the clip and back."""

    def survival() -> float:
        flow = scene.flow
        return formulas.track_survival(flow.forward, flow.backward, flow.forward_valid, flow.backward_valid)

    return _of_pairs(scene, survival)


def brisque(scene: Scene) -> MetricResult:
    """BRISQUE of every frame, averaged."""
    if min(scene.clip.width, scene.clip.height) < _LEAST:
        return MetricResult(None, f"frames of less than {_LEAST} pixels a side")
    regression = natural_scenes.published_regression()
    return _mean(
        [natural_scenes.brisque(natural_scenes.brisque_features(m), regression) for m in _frame_moments(scene)], FLAT
    )


def niqe(scene: Scene) -> MetricResult:
    """NIQE of every frame, averaged."""
    clip = scene.clip
    if min(clip.width, clip.height) < natural_scenes.LEAST_SIDE:
        return MetricResult(None, f"frames of less than {natural_scenes.LEAST_SIDE} pixels a side: too few blocks")
    pristine = natural_scenes.shipped_pristine()
    features = (natural_scenes.block_features(moments, clip.height, clip.width) for moments in _frame_moments(scene))
    return _mean([natural_scenes.niqe(blocks, pristine) for blocks in features], FLAT)


def grey_frames(scene: Scene) -> NDArray[np.uint8]:
    """(T, H, W) grey frames at the clip's own size."""

    def grey() -> NDArray[np.uint8]:
        return np.stack([np.asarray(cv2.cvtColor(f, cv2.COLOR_RGB2GRAY), np.uint8) for f in scene.clip.frames])

    return scene.once("baselines:grey", grey)


def resized_frames(scene: Scene, size: tuple[int, int]) -> NDArray[np.uint8]:
    """(T, h, w, 3) frames at another size (w, h)."""
    shrinking = size[0] <= scene.clip.width and size[1] <= scene.clip.height
    interpolation = cv2.INTER_AREA if shrinking else cv2.INTER_LINEAR

    def resized() -> NDArray[np.uint8]:
        return np.stack(
            [np.asarray(cv2.resize(f, size, interpolation=interpolation), np.uint8) for f in scene.clip.frames]
        )

    return scene.once(f"baselines:{size[0]}x{size[1]}", resized)


def _frame_moments(scene: Scene) -> list[list[FloatArray]]:
    """Statistics of every frame; a repeated frame has those of the one before."""

    def moments() -> list[list[FloatArray]]:
        found: list[list[FloatArray]] = []
        frames = grey_frames(scene)
        for t, frame in enumerate(frames):
            found.append(
                found[-1] if t and np.array_equal(frame, frames[t - 1]) else natural_scenes.scene_moments(frame)
            )
        return found

    return scene.once("baselines:moments", moments)


def _of_pairs(scene: Scene, compute: Callable[[], float | None], otherwise: str = "") -> MetricResult:
    if len(scene.clip) < 2:
        return MetricResult(None, ONE_FRAME)
    value = compute()
    return MetricResult(None, otherwise) if value is None else MetricResult(value)


def _mean(values: list[float | None], otherwise: str) -> MetricResult:
    """The mean of the frames that have a value."""
    known = [value for value in values if value is not None]
    return MetricResult(float(np.mean(known))) if known else MetricResult(None, otherwise)


BaselineMeasure = Callable[[Scene], MetricResult]


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
    """

    name: str
    unit: str
    lower_is_better: bool
    source: str
    measure: BaselineMeasure | None = None
    weights: tuple[str, ...] = ()


CPU = (
    Baseline("ssim", "−1..1", False, "Wang et al. 2004", ssim),
    Baseline("frame_difference", "levels of 255", True, "mean absolute difference", frame_difference),
    Baseline("temporal_flickering", "0..1", False, "VBench 2024", temporal_flickering),
    Baseline("flow_magnitude", "diagonals per second", False, "mean flow", flow_magnitude),
    Baseline("warping_error", "squared intensity, 0..1", True, "Lai et al. 2018", warping_error),
    Baseline("forward_backward_error", "‰ of the diagonal", True, "Sundaram et al. 2010", forward_backward_error),
    Baseline("track_survival", "share, 0..1", False, "flow followed there and back", track_survival),
    Baseline("brisque", "about 0..100", True, "Mittal et al. 2012", brisque, ("brisque-live",)),
    Baseline("niqe", "distance", True, "Mittal et al. 2013, pristine model of ours", niqe, ("niqe-pristine",)),
)
"""Those that need nothing but this package."""


@dataclass(frozen=True, slots=True)
class LoadedFamily:
    """A family of baselines whose models are loaded.

    Attributes:
        measures: What measures each, by name.
        part: What their values depend on, ready for JSON: hashes of weights, versions, settings.
    """

    measures: Mapping[str, BaselineMeasure]
    part: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BaselineFamily:
    """Baselines that one model of the user's gives.

    Attributes:
        name: What selects all of them.
        baselines: Which.
        load: ``module:function`` that takes it and returns a :class:`LoadedFamily`.
    """

    name: str
    baselines: tuple[Baseline, ...]
    load: str


_NETWORKS = "vmmetrics.alignment.baselines.networks"
_VBENCH = "VBench 2024"

FAMILIES = (
    BaselineFamily(
        "raft",
        (
            Baseline("raft_flow_magnitude", "diagonals per second", False, "mean flow by RAFT"),
            Baseline("raft_warping_error", "squared intensity, 0..1", True, "Lai et al. 2018, flow by RAFT"),
            Baseline("raft_forward_backward_error", "‰ of the diagonal", True, "Sundaram et al. 2010, flow by RAFT"),
        ),
        f"{_NETWORKS}:load_raft",
    ),
    BaselineFamily(
        "clip_consistency",
        (Baseline("clip_consistency", "0..1", False, f"{_VBENCH}, background consistency"),),
        f"{_NETWORKS}:load_clip",
    ),
    BaselineFamily(
        "dino_consistency",
        (Baseline("dino_consistency", "0..1", False, f"{_VBENCH}, subject consistency"),),
        f"{_NETWORKS}:load_dino",
    ),
    BaselineFamily(
        "film_smoothness",
        (Baseline("film_smoothness", "0..1", False, f"{_VBENCH}, motion smoothness, FILM for AMT"),),
        f"{_NETWORKS}:load_film",
    ),
    BaselineFamily(
        "dover",
        (Baseline("dover", "network's output", False, "DOVER 2023, technical branch, before any rescaling"),),
        "vmmetrics.alignment.baselines.dover:load",
    ),
    BaselineFamily(
        "vlm_judge",
        tuple(Baseline(f"judge_{key}", "level, 1..5", False, "rating by a video language model") for key in METRICS),
        "vmmetrics.alignment.baselines.judge:load",
    ),
)
"""Those that run on what the user has: weights, or an endpoint."""

BASELINES: Mapping[str, Baseline] = {b.name: b for b in (*CPU, *(b for f in FAMILIES for b in f.baselines))}
"""All of them by name."""


def chosen(names: Sequence[str] | None, given: Sequence[str] = ()) -> tuple[str, ...]:
    """The baselines that names stand for, in the order of the catalogue.

    Args:
        names: Baselines and families; None stands for all that need no download.
        given: Families that the user handed something over for, which None stands for besides.

    Raises:
        ValueError: No such baseline or family.

    >>> chosen(["niqe", "ssim"])
    ('ssim', 'niqe')
    """
    families = {family.name: family for family in FAMILIES}
    wanted: set[str] = {b.name for b in CPU} if names is None else set()
    for name in given if names is None else names:
        if name in families:
            wanted.update(b.name for b in families[name].baselines)
        elif name in BASELINES:
            wanted.add(name)
        else:
            known = ", ".join([*(b.name for b in CPU), *families])
            raise ValueError(f"Expected baselines among {known} but got {name!r}")
    return tuple(name for name in BASELINES if name in wanted)
