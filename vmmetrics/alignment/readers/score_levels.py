"""Nested scores: which level of a JSON file is model, clip or metric, by the names on it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import permutations
from typing import Any, NamedTuple

from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.alignment.readers.score_tables import to_score
from vmmetrics.metrics.registry import registered
from vmmetrics.video.discover import CLIP_SUFFIXES

_LEVELS = ("model", "clip", "metric")
_DEEPEST = len(_LEVELS)
_METRIC_WORDS = frozenset((
    "score", "scores", "metric", "consistency", "quality", "smoothness", "flickering", "flicker", "degree",
    "similarity", "error", "accuracy", "coherence", "ssim", "psnr", "lpips", "niqe", "brisque", "dover", "clipscore",
    "blipscore", "umtscore", "vqa", "warping", "fidelity", "aesthetic", "naturalness",
))  # fmt: skip
"""Words in the names of metrics other than ours."""
_VBENCH = frozenset((
    "subject_consistency", "background_consistency", "temporal_flickering", "motion_smoothness", "dynamic_degree",
    "aesthetic_quality", "imaging_quality", "overall_consistency", "object_class", "multiple_objects", "human_action",
    "color", "spatial_relationship", "scene", "appearance_style", "temporal_style", "human_anatomy", "human_identity",
    "human_clothes", "diversity", "composition", "dynamic_spatial_relationship", "dynamic_attribute",
    "motion_order_understanding", "human_interaction", "complex_landscape", "complex_plot", "camera_motion",
    "motion_rationality", "instance_preservation", "mechanics", "thermotics", "material",
))  # fmt: skip
"""Dimensions of VBench and VBench-2.0."""


class ScoreEntry(NamedTuple):
    """A score of a clip.

    Attributes:
        clip: Name.
        model: Its model, where known.
        metric: Name of the score; None where the file does not name it.
        value: NaN where there is none.
        prompt: Its prompt, where known.
    """

    clip: str
    model: str | None
    metric: str | None
    value: float
    prompt: str | None = None


class NestedScores(NamedTuple):
    """Scores and how they were nested.

    Attributes:
        entries: The scores.
        shape: The levels in words (``"{model: {clip: score}}"``).
        roles: Level to how it was read.
        is_table: Whether they are a table, a row per clip: ``{clip: {metric: score}}``.
    """

    entries: list[ScoreEntry]
    shape: str
    roles: Mapping[str, str]
    is_table: bool


@cache
def is_registered_metric(name: str) -> bool:
    """Return True if a metric has this name: one of ours, a baseline or a dimension of VBench.

    >>> is_registered_metric("mss"), is_registered_metric("Warping Error"), is_registered_metric("quality")
    (True, True, False)
    """
    from vmmetrics.alignment.baselines.catalogue import BASELINES

    return normalised(name) in {*registered(), *BASELINES, *_VBENCH, "motion_index"}


@cache
def is_metric_name(name: str) -> bool:
    """Return True if a name is known as a metric's, or has a word such as "consistency" in it.

    >>> is_metric_name("mss"), is_metric_name("CLIPScore-ft"), is_metric_name("cogvideo"), is_metric_name("a.mp4")
    (True, True, False, False)
    """
    words = normalised(name).split("_")
    worded = any(word in _METRIC_WORDS or word.endswith("score") for word in words)
    return is_registered_metric(name) or (worded and not _is_clip_name(name))


def nested_scores(content: Any) -> NestedScores | None:
    """Tell the levels of nested scores apart; None where it is no mapping of mappings down to scores of one depth.

    The level of the clips is the one whose names end like a video's or are numbers or sentences, else the one with most
    names; of the others, the level of the metrics is the one with names of metrics.

    >>> nested_scores({"wan": {"1.mp4": 0.5, "2.mp4": 0.25}, "mochi": {"1.mp4": 1}}).shape
    '{model: {clip: score}}'
    """
    leaves = list(_leaves(content, ()))
    depths = {len(path) for path, _ in leaves}
    if len(depths) != 1 or not 1 <= (depth := depths.pop()) <= _DEEPEST:
        return None
    if any(to_score(value) is None for _, value in leaves):
        return None
    names = [list(dict.fromkeys(path[level] for path, _ in leaves)) for level in range(depth)]
    order = _order(names)
    if order is None:
        return None
    entries = []
    for path, value in leaves:
        of = dict(zip(order, path, strict=True))
        entries.append(ScoreEntry(of["clip"], of.get("model"), of.get("metric"), to_score(value) or 0.0))
    shape = "{" + ": {".join(order) + ": score" + "}" * depth
    roles = {f"level {n} ({keys[0]}, ...)": role for n, (role, keys) in enumerate(zip(order, names, strict=True), 1)}
    return NestedScores(entries, shape, roles, order == ("clip", "metric"))


def _leaves(content: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not isinstance(content, Mapping):
        yield path, content
    elif len(path) <= _DEEPEST:
        for name, inner in content.items():
            yield from _leaves(inner, (*path, str(name)))


def _order(names: Sequence[Sequence[str]]) -> tuple[str, ...] | None:
    """Return the role of each level, outermost first; None where the only one is of metrics."""
    depth = len(names)
    if depth == 1:
        return None if all(map(is_metric_name, names[0])) else ("clip",)
    most = max(len(level) for level in names)

    def fit(order: tuple[str, ...]) -> float:
        total = 0.0
        for role, level in zip(order, names, strict=True):
            likely = sum(map(is_metric_name, level)) / len(level)
            clips = sum(map(_is_clip_name, level)) / len(level)
            total += {"clip": clips + 0.5 * (len(level) == most) - likely, "metric": likely, "model": -likely}[role]
        return total

    # of those that fit as well, the first: the layouts that people use most
    usual = [("clip", "metric"), ("model", "clip"), ("metric", "clip")]
    return max(usual if depth == 2 else list(permutations(_LEVELS)), key=fit)


def _is_clip_name(name: str) -> bool:
    plain = name.strip()
    return plain.lower().endswith(tuple(CLIP_SUFFIXES)) or bool(re.fullmatch(r"\d+", plain)) or len(plain.split()) > 2
