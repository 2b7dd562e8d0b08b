"""Every baseline there is: name, unit, direction, source, and how it is measured on a scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vmmetrics.alignment.baselines import measures
from vmmetrics.metrics import METRICS
from vmmetrics.perception.scene import Scene
from vmmetrics.types import MetricResult

Measure = Callable[[Scene], MetricResult]


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
    measure: Measure | None = None
    weights: tuple[str, ...] = ()


CPU = (
    Baseline("ssim", "−1..1", False, "Wang et al. 2004", measures.ssim),
    Baseline("frame_difference", "levels of 255", True, "mean absolute difference", measures.frame_difference),
    Baseline("temporal_flickering", "0..1", False, "VBench 2024", measures.temporal_flickering),
    Baseline("flow_magnitude", "diagonals per second", False, "mean flow", measures.flow_magnitude),
    Baseline("warping_error", "squared intensity, 0..1", True, "Lai et al. 2018", measures.warping_error),
    Baseline(
        "forward_backward_error", "‰ of the diagonal", True, "Sundaram et al. 2010", measures.forward_backward_error
    ),
    Baseline("track_survival", "share, 0..1", False, "flow followed there and back", measures.track_survival),
    Baseline("brisque", "about 0..100", True, "Mittal et al. 2012", measures.brisque, ("brisque-live",)),
    Baseline("niqe", "distance", True, "Mittal et al. 2013, pristine model of ours", measures.niqe, ("niqe-pristine",)),
)
"""Those that need nothing but this package."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A family of baselines whose models are loaded.

    Attributes:
        measures: What measures each, by name.
        part: What their values depend on, ready for JSON: hashes of weights, versions, settings.
    """

    measures: Mapping[str, Measure]
    part: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Family:
    """Baselines that one model of the user's gives.

    Attributes:
        name: What selects all of them.
        baselines: Which.
        load: ``module:function`` that takes it and returns a :class:`Loaded`.
    """

    name: str
    baselines: tuple[Baseline, ...]
    load: str


_ADAPTERS = "vmmetrics.alignment.baselines.adapters"
_VBENCH = "VBench 2024"

FAMILIES = (
    Family(
        "raft",
        (
            Baseline("raft_flow_magnitude", "diagonals per second", False, "mean flow by RAFT"),
            Baseline("raft_warping_error", "squared intensity, 0..1", True, "Lai et al. 2018, flow by RAFT"),
            Baseline("raft_forward_backward_error", "‰ of the diagonal", True, "Sundaram et al. 2010, flow by RAFT"),
        ),
        f"{_ADAPTERS}.raft:load",
    ),
    Family(
        "clip_consistency",
        (Baseline("clip_consistency", "0..1", False, f"{_VBENCH}, background consistency"),),
        f"{_ADAPTERS}.encoders:load_clip",
    ),
    Family(
        "dino_consistency",
        (Baseline("dino_consistency", "0..1", False, f"{_VBENCH}, subject consistency"),),
        f"{_ADAPTERS}.encoders:load_dino",
    ),
    Family(
        "film_smoothness",
        (Baseline("film_smoothness", "0..1", False, f"{_VBENCH}, motion smoothness, FILM for AMT"),),
        f"{_ADAPTERS}.film:load",
    ),
    Family(
        "dover",
        (Baseline("dover", "network's output", False, "DOVER 2023, technical branch, before any rescaling"),),
        f"{_ADAPTERS}.dover:load",
    ),
    Family(
        "vlm_judge",
        tuple(Baseline(f"judge_{key}", "level, 1..5", False, "rating by a video language model") for key in METRICS),
        "vmmetrics.alignment.baselines.judge.measure:load",
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
