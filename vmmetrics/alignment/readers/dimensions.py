"""Which score is held against which dimension of judgement: as given, or guessed from their names.

A dimension is about *other things than motion* (sharpness, beauty, what the prompt asked for), about *some* of the five
aspects of motion, or about motion *in general*. A dimension whose name says nothing known counts as general.

- One of the five metrics faces the dimensions of its aspect and those about motion in general; if there are none, all
  about motion but those about its amount.
- Any other metric faces all dimensions about motion.
- A dimension about other things is faced by metrics of its own name, and by all if it is asked for.
- Where only one dimension is left, everything faces it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from vmmetrics.alignment.readers.columns import normalised
from vmmetrics.errors import SetupError
from vmmetrics.types import METRICS

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "cas": ("cas", "common_sense", "commonsense", "plausib", "physic", "phy", "factual", "realis", "reality",
            "natural"),
    "mss": ("mss", "smooth", "flicker", "jitter", "jerk", "temporal_consistency", "blur"),
    "ois": ("ois", "integrity", "structur", "deform", "distort", "shape", "anatom", "limb", "subject_consistency"),
    "pas": ("pas", "dynamic", "amplitude", "degree", "magnitude", "amount", "intensity"),
    "tcs": ("tcs", "temporal_consistency", "temporal_coherence", "coheren", "continuity", "appearance_consistency",
            "identity", "vanish", "subject_consistency"),
}  # fmt: skip
"""Parts of the names of dimensions, by the metric that claims to measure them."""
OTHER_THINGS = (
    "static", "aesthetic", "imaging", "image", "visual", "technical", "alignment", "align", "text", "prompt", "color",
    "colour", "scene", "object_class", "action", "composition", "focus", "lighting", "clear", "letters", "safety",
    "unsafe", "detail", "refinement", "semantic", "style", "sharpness", "resolution", "camera", "audio", "background",
)  # fmt: skip
"""Words in the names of dimensions that are not about how things move."""
_AMOUNT = "pas"

Facing = Mapping[str, Sequence[str] | str]


def faces(
    metrics: Sequence[str],
    dimensions: Sequence[str],
    given: Facing | None = None,
    asked: Sequence[str] = (),
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Decide which metric is held against which dimensions.

    Args:
        metrics: Names of the metrics.
        dimensions: Names of the dimensions.
        given: Metric to one dimension or several; metrics that are not named are guessed.
        asked: Dimensions that were asked for by name; they count as being about motion.

    Returns:
        Metric to dimensions, and what was guessed, in words.

    Raises:
        SetupError: ``given`` names an unknown metric or dimension, or nothing faces anything.
    """
    stated = _stated(metrics, dimensions, given or {})
    wanted = {normalised(name) for name in asked}
    about = {d: None if normalised(d) in wanted else aspects_of(d) for d in dimensions}
    motion = [d for d in dimensions if about[d] != frozenset()]
    facing = {m: stated.get(m) or _guess(m, dimensions, motion, about) for m in metrics}
    guessed = {m: facing[m] for m in metrics if m not in stated}
    if not any(facing.values()):
        raise SetupError(
            f"No score faces any of the dimensions {', '.join(dimensions)}, which are about other things than motion; "
            "say with --face METRIC=DIMENSION or --dimension which to hold them against"
        )
    return {m: found for m, found in facing.items() if found}, _notes(guessed, dimensions, facing)


def aspects_of(dimension: str) -> frozenset[str] | None:
    """The metrics whose aspect of motion a dimension is about; empty: about other things; None: motion in general.

    >>> sorted(aspects_of("Motion Smoothness")), aspects_of("static_quality"), aspects_of("temporal_quality")
    (['mss'], frozenset(), None)
    """
    name = normalised(dimension)
    found = frozenset(metric for metric, parts in SYNONYMS.items() if any(_has(name, part) for part in parts))
    if found and not (found == {_AMOUNT} and _has(name, "camera")):
        return found
    return frozenset() if any(_has(name, word) for word in OTHER_THINGS) else None


def _has(name: str, part: str) -> bool:
    """Whether a word of ``name`` begins with ``part``; of short parts, is it."""
    end = r"(?:_|$)" if len(part) <= 3 else ""
    return re.search(rf"(?:^|_){part}{end}", name) is not None


def _stated(metrics: Sequence[str], dimensions: Sequence[str], given: Facing) -> dict[str, tuple[str, ...]]:
    by_name = {normalised(d): d for d in dimensions}
    found: dict[str, tuple[str, ...]] = {}
    for metric, wanted in given.items():
        named = [m for m in metrics if normalised(metric) in {normalised(m), normalised(m.rpartition(":")[2])}]
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        unknown = [name for name in names if normalised(name) not in by_name]
        if not named:
            raise SetupError(f"No metric {metric!r} to face {', '.join(names)}; the scores have {', '.join(metrics)}")
        if unknown:
            raise SetupError(f"No dimension {unknown[0]!r} for {metric}; the ratings have {', '.join(dimensions)}")
        for name in named:
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), *(by_name[normalised(d)] for d in names))))
    return found


def _guess(
    metric: str,
    dimensions: Sequence[str],
    motion: Sequence[str],
    about: Mapping[str, frozenset[str] | None],
) -> tuple[str, ...]:
    if len(dimensions) == 1:
        return tuple(dimensions)
    name = normalised(metric.rpartition(":")[2])
    namesakes = {d for d in dimensions if about[d] == frozenset() and _namesake(name, normalised(d))}
    if len(motion) == 1 or name not in METRICS:
        chosen = {*motion, *namesakes}
    else:
        own = {d for d in motion if about[d] is None or name in (about[d] or ())}
        chosen = (own or {d for d in motion if about[d] != frozenset({_AMOUNT})} or set(motion)) | namesakes
    return tuple(d for d in dimensions if d in chosen)


def _namesake(metric: str, dimension: str) -> bool:
    """Whether one name's words are all in the other."""
    one, other = set(metric.split("_")), set(dimension.split("_"))
    return one <= other or other <= one


def _notes(
    guessed: Mapping[str, tuple[str, ...]], dimensions: Sequence[str], facing: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    by_dimensions: dict[tuple[str, ...], list[str]] = {}
    for metric, found in guessed.items():
        by_dimensions.setdefault(found, []).append(metric)
    notes = [
        f"Guessed from names: {', '.join(metrics)} held against {', '.join(found) or 'nothing'}"
        for found, metrics in by_dimensions.items()
    ]
    left = [d for d in dimensions if not any(d in found for found in facing.values())]
    if left:
        notes.append(f"Not about motion by its name, and so faced by no score: {', '.join(left)}")
    return tuple(notes)
