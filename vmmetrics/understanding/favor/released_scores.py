"""FAVOR-Bench's second step as released: a description's structure against the annotation's, score for score.

Kept with everything that makes it score an unrelated description .40 (docs/understanding.md lists it); :mod:`.scores`
is ours. A description and an annotation are mappings with ``camera_motion``, ``motion_list`` and
``chronological_motion_list``, strings all.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.optimize import linear_sum_assignment

from vmmetrics.understanding.favor import released_tables as tables
from vmmetrics.understanding.favor.released_parsing import Subjects, parse_camera, parse_chronology, parse_subjects
from vmmetrics.understanding.favor.released_similarity import ReleasedSimilarity

NAMES: Final = tuple(
    f"{part} {name}" for part in ("camera", "subject", "chronology") for name in ("f1", "precision", "recall", "order")
)


@dataclass(frozen=True, slots=True)
class _Matched:
    """Two lists matched.

    Attributes:
        precision: Share of the first that is matched, times how well, times a factor for the lengths.
        recall: The same of the second.
        pairs: Places that go together, from the first list to the second, in order of matching.
    """

    precision: float = 0.0
    recall: float = 0.0
    pairs: Mapping[int, int] | None = None

    @property
    def f1(self) -> float:
        return _f1(self.precision, self.recall)


def released_scores(
    similarity: ReleasedSimilarity, annotation: Mapping[str, Any], found: Mapping[str, Any]
) -> dict[str, float]:
    """Scores of one description, each 0..1: :data:`NAMES` and ``"composite"``.

    All are 0 where the released code fails (an annotation whose subjects do nothing, a field that is
    None, a number of thousands of digits).
    """
    try:
        camera = _camera(similarity, annotation.get("camera_motion", ""), found.get("camera_motion", ""))
        subject = _subjects(
            similarity, parse_subjects(annotation.get("motion_list", "")), parse_subjects(found.get("motion_list", ""))
        )
        name = "chronological_motion_list"
        chronology = _chronology(
            similarity, parse_chronology(annotation.get(name, "")), parse_chronology(found.get(name, ""))
        )
    except (ZeroDivisionError, AttributeError, ValueError):
        return dict.fromkeys((*NAMES, "composite"), 0.0)
    scores = dict(zip(NAMES, itertools.chain(camera, subject, chronology), strict=True))
    scores["composite"] = sum(
        weight * scores["camera f1" if name == "camera" else name] for name, weight in tables.WEIGHTS.items()
    )
    return scores


def _camera(similarity: ReleasedSimilarity, wanted: Any, said: Any) -> tuple[float, float, float, float]:
    if not wanted or not wanted.strip():
        return 1.0, 1.0, 1.0, 1.0
    actions, others = parse_camera(said), parse_camera(wanted)
    if not actions or not others:
        return 0.0, 0.0, 0.0, 0.0
    matched = _match(similarity, actions, others, tables.CAMERA_THRESHOLD)
    return matched.f1, matched.precision, matched.recall, _order(matched.pairs or {}, len(actions), len(others))


def _subjects(similarity: ReleasedSimilarity, wanted: Subjects, said: Subjects) -> tuple[float, float, float, float]:
    rows, weights = [], []
    for number, other in _match_subjects(similarity, wanted, said).items():
        actions, others = said[number][1], wanted[other][1]
        matched = _match(similarity, actions, others, tables.THRESHOLD)
        order = _order(matched.pairs or {}, len(actions), len(others))
        rows.append((matched.f1, matched.precision, matched.recall, order))
        weights.append(len(others))
    if not rows:
        return 0.0, 0.0, 0.0, 0.0
    f1, precision, recall, order = (
        sum(value * weight for value, weight in zip(column, weights, strict=True)) / sum(weights)
        for column in zip(*rows, strict=True)
    )
    return f1, precision, recall, order


def _chronology(
    similarity: ReleasedSimilarity, wanted: Sequence[tuple[str, int]], said: Sequence[tuple[str, int]]
) -> tuple[float, float, float, float]:
    if not wanted or not said:
        return 0.0, 0.0, 0.0, 0.0
    matched = _match(similarity, [action for action, _ in said], [action for action, _ in wanted], tables.THRESHOLD)
    pairs = matched.pairs or {}
    same = float(np.mean([said[i][1] == wanted[j][1] for i, j in pairs.items()])) if pairs else 0.0
    precision, recall = (value * (0.9 + 0.1 * same) for value in (matched.precision, matched.recall))
    return _f1(precision, recall), precision, recall, _order(pairs, len(said), len(wanted))


def _match_subjects(similarity: ReleasedSimilarity, wanted: Subjects, said: Subjects) -> dict[int, int]:
    """Subjects of the description to those of the annotation, the surest first."""
    if not wanted or not said:
        return {}
    numbers, others = list(said), list(wanted)
    values = np.array([[_subject_likeness(similarity, said[n], wanted[o]) for o in others] for n in numbers])
    pairs = [(numbers[i], others[j], values[i, j]) for i, j in zip(*linear_sum_assignment(-values), strict=True)]
    pairs.sort(key=lambda pair: pair[2], reverse=True)
    sure = [pair for pair in pairs if pair[2] >= tables.SURE_SUBJECT]
    likely = [pair for pair in pairs if tables.LEAST_SUBJECT < pair[2] < tables.SURE_SUBJECT]
    return {number: other for number, other, _ in (sure + likely) or pairs[:1]}


def _subject_likeness(
    similarity: ReleasedSimilarity, subject: tuple[str, list[str]], other: tuple[str, list[str]]
) -> float:
    description, wanted = subject[0].lower(), other[0].lower()
    likeness = min(1.0, similarity.texts(description, wanted) + _person_boost(description, wanted))
    actions, others = subject[1], other[1]
    if not actions or not others:
        return likeness
    whole = similarity.texts(" ".join(actions), " ".join(others))
    values = similarity.matrix(actions, others)
    if values.max() > 0:
        whole = 0.2 * whole + 0.8 * (values.max(axis=1).mean() + values.max(axis=0).mean()) / 2
    return float(tables.DESCRIPTION_WEIGHT * likeness + tables.ACTION_WEIGHT * whole)


def _person_boost(text: str, other: str) -> float:
    words, others = set(text.split()), set(other.split())
    boosts = [
        boost * (tables.SAME_PERSON if words & others & pair else 1.0)
        for boost, pair in tables.PERSONS
        if words & pair and others & pair
    ]
    return max(boosts, default=0.0)


def _match(similarity: ReleasedSimilarity, actions: Sequence[str], others: Sequence[str], threshold: float) -> _Matched:
    """Each action to the one it is most like, then runs of two and three actions taken together."""
    if not actions or not others:
        return _Matched()
    values = similarity.matrix(actions, others)
    spread = values.mean() - 0.5 * values.std()
    threshold = min(threshold, max(tables.LEAST_THRESHOLD, min(tables.MOST_THRESHOLD, spread)))
    pairs: dict[int, tuple[int, float]] = {}
    for i, row in enumerate(values):
        j = int(row.argmax())
        if row[j] >= threshold and abs(i - j) <= tables.FARTHEST:
            pairs[i] = (j, float(row[j]))
    sizes = range(2, min(tables.WINDOW, len(actions)) + 1)
    windows = [range(i, i + size) for size in sizes for i in range(len(actions) - size + 1)]
    joined = {window: " ".join(actions[window.start : window.stop]) for window in windows}
    similarity.prepare([joined[window] for window in windows if not all(k in pairs for k in window)])
    for window in windows:
        if not all(k in pairs for k in window):
            _join(similarity, pairs, window, joined[window], others, values, threshold + 0.1)
    if not pairs:
        return _Matched()
    n, m = len(actions), len(others)
    quality = float(np.mean([score for _, score in pairs.values()]))
    quality *= 1 - (1 - min(n, m) / max(n, m)) * tables.LENGTH_PENALTY
    places = {i: j for i, (j, _) in pairs.items()}
    return _Matched(len(pairs) / n * quality, len(set(places.values())) / m * quality, places)


def _join(
    similarity: ReleasedSimilarity,
    pairs: dict[int, tuple[int, float]],
    window: range,
    joined: str,
    others: Sequence[str],
    values: Any,
    threshold: float,
) -> None:
    """Match a run of actions, taken together, to every other action in turn that suits it better than its members."""
    for j, other in enumerate(others):
        likeness = similarity.actions(joined, other)
        if likeness > threshold and abs(window[0] - j) <= tables.FARTHEST:
            members = [k for k in window if k in pairs]
            held = sum(values[k, pairs[k][0]] for k in members) / max(1, len(members))
            if likeness > held:
                for k in members:
                    del pairs[k]
                pairs[window[0]] = (j, likeness)


def _order(pairs: Mapping[int, int], n: int, m: int) -> float:
    """Kendall's τ of what is matched, squeezed into 0.5..1; with under three matches a number by the lengths."""
    if len(pairs) < tables.FEW:
        if n >= tables.FEW:
            return 1 - tables.FEW_PENALTY * 1.5
        return 1 - tables.FEW_PENALTY if m >= tables.FEW else 1.0
    first: dict[int, int] = {}
    for i in sorted(pairs):
        first.setdefault(pairs[i], i)
    places = sorted((i, j) for j, i in first.items())
    couples = list(itertools.combinations(places, 2))
    rising = sum(a[1] < b[1] for a, b in couples)
    concordance = rising / len(couples) if couples else 1.0
    return 1 - (1 - concordance) * tables.ORDER_PENALTY


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
