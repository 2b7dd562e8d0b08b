"""Our score of a description against an annotation: what was said and is so, what is so and was said, in which order.

Lists are matched one to one by the assignment with the largest total similarity (Kuhn, 1955). With S the sum of its
similarities, precision is S / n over the n things said and recall S / m over the m annotated: what is missing or made
up costs its share, subjects as well as actions. In the chronological list, what stands outside the heaviest run of
matches in the right order counts half. Order is Kendall's τ of what was matched, nothing below 0, times the F1: it is
earned, not given. Weights of the composite are the released ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import linear_sum_assignment

from vmmetrics.types import FloatArray
from vmmetrics.understanding.benchmarks.favor.camera import camera_matrix
from vmmetrics.understanding.benchmarks.favor.released_tables import WEIGHTS
from vmmetrics.understanding.benchmarks.favor.similarity import Similarity
from vmmetrics.understanding.benchmarks.favor.structure import NOBODY, Structure

WRONG_SUBJECT: Final = 0.9
"""Factor of an action that is said of another subject than whom it was matched with; the released code's."""
OUT_OF_PLACE: Final = 0.5
"""Factor of a match in the chronological list that stands outside the run in order: done, but not then."""
LOOKS: Final = 0.1
"""Weight of how alike subjects are described, beside what they do, when they are matched; the released code's."""
_IN_PLACE: Final = 1e-3
"""At equal similarity the pair at the nearer relative places is matched, so that repeated actions keep their order."""


@dataclass(frozen=True, slots=True)
class Match:
    """Two lists matched one to one.

    Attributes:
        precision: Similarity matched, per thing said, 0..1.
        recall: The same per thing annotated.
        order: τ of the matched, at least 0, times F1.
        pairs: Place said, place annotated, similarity above 0.
    """

    precision: float
    recall: float
    order: float
    pairs: tuple[tuple[int, int, float], ...] = ()

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return _f1(self.precision, self.recall)


@dataclass(frozen=True, slots=True)
class Scores:
    """All of a description.

    Attributes:
        camera: Of the camera's motions.
        subject: Of what each subject does.
        chronology: Of everything that is done, in order.
        subjects: Number said to number annotated.
    """

    camera: Match
    subject: Match
    chronology: Match
    subjects: Mapping[int, int]

    @property
    def composite(self) -> float:
        """The weighted sum, 0..1."""
        parts = self.parts()
        return sum(weight * parts["camera f1" if name == "camera" else name] for name, weight in WEIGHTS.items())

    def parts(self) -> dict[str, float]:
        """Each figure by name, as :data:`.released_scores.NAMES`."""
        found = {}
        for name, match in (("camera", self.camera), ("subject", self.subject), ("chronology", self.chronology)):
            found[f"{name} f1"], found[f"{name} precision"] = match.f1, match.precision
            found[f"{name} recall"], found[f"{name} order"] = match.recall, match.order
        return found


def texts_of(structures: Iterable[Structure]) -> list[str]:
    """Every text that scoring will compare: to be embedded at once."""
    return [
        text
        for structure in structures
        for text in (
            *structure.camera,
            *(action for action, _ in structure.chronology),
            *(t for subject in structure.subjects.values() for t in (subject.description, *subject.actions)),
        )
    ]


def score(similarity: Similarity, wanted: Structure, said: Structure) -> Scores:
    """Score a description's structure.

    Args:
        similarity: Of texts.
        wanted: The annotation.
        said: The description.

    Returns:
        Scores; identical structures have 1 everywhere, an empty description 0. What the annotation does not have (no
        camera, no actions) nobody can miss: saying nothing of it is 1, saying something 0.
    """
    camera = match(camera_matrix(similarity, said.camera, wanted.camera))
    subject, numbers = _match_subjects(similarity, wanted, said)
    actions, others = [action for action, _ in said.chronology], [action for action, _ in wanted.chronology]
    values = similarity.matrix(actions, others)
    for i, (_, who) in enumerate(said.chronology):
        for j, (_, other) in enumerate(wanted.chronology):
            if numbers.get(who, NOBODY if who in said.subjects else who) != other:  # in the order alone: as they are
                values[i, j] *= WRONG_SUBJECT
    return Scores(camera, subject, match(values, out_of_place=OUT_OF_PLACE), numbers)


def match(values: FloatArray, out_of_place: float = 1.0) -> Match:
    """Match what was said, in rows, with what was annotated, in columns.

    Args:
        values: (N, M) similarities, 0..1.
        out_of_place: Factor of matches outside the heaviest run of matches in order.
    """
    n, m = values.shape
    if n == 0 or m == 0:
        nothing = float(n == m)
        return Match(nothing, nothing, nothing)
    apart = np.abs(np.linspace(0, 1, n)[:, None] - np.linspace(0, 1, m)[None, :]) if n > 1 and m > 1 else 0.0
    rows, columns = linear_sum_assignment(values - _IN_PLACE * apart * (values > 0), maximize=True)
    pairs = tuple((int(i), int(j), float(values[i, j])) for i, j in zip(rows, columns, strict=True) if values[i, j] > 0)
    whole = sum(value for *_, value in pairs)
    total = whole if out_of_place == 1 else out_of_place * whole + (1 - out_of_place) * _in_order(pairs)
    precision, recall = total / n, total / m
    return Match(precision, recall, max(0.0, _tau(pairs)) * _f1(precision, recall), pairs)


def _match_subjects(similarity: Similarity, wanted: Structure, said: Structure) -> tuple[Match, dict[int, int]]:
    """Subjects matched so that as much of what they do is matched as can be; unmatched ones keep all they did."""
    numbers, others = list(said.subjects), list(wanted.subjects)
    if not numbers or not others:
        nothing = float(not numbers and not others)
        return Match(nothing, nothing, nothing), {}
    looks = similarity.matrix(
        [said.subjects[n].description for n in numbers], [wanted.subjects[o].description for o in others]
    )
    matches = [
        [match(similarity.matrix(said.subjects[n].actions, wanted.subjects[o].actions)) for o in others]
        for n in numbers
    ]
    done = np.array([[sum(value for *_, value in one.pairs) for one in row] for row in matches])
    rows, columns = linear_sum_assignment(done + LOOKS * looks, maximize=True)
    taken = list(zip(rows.tolist(), columns.tolist(), strict=True))
    said_count = sum(len(said.subjects[n].actions) for n in numbers)
    wanted_count = sum(len(wanted.subjects[o].actions) for o in others)
    total = float(sum(done[i, j] for i, j in taken))
    if not said_count or not wanted_count:
        nothing = float(said_count == wanted_count)
        return Match(nothing, nothing, nothing), {numbers[i]: others[j] for i, j in taken}
    order = sum(matches[i][j].order * len(wanted.subjects[others[j]].actions) for i, j in taken) / wanted_count
    return Match(total / said_count, total / wanted_count, order), {numbers[i]: others[j] for i, j in taken}


def _in_order(pairs: tuple[tuple[int, int, float], ...]) -> float:
    """Weight of the heaviest run of matches whose places rise on both sides."""
    best: list[float] = []
    for place, (_, j, value) in enumerate(pairs):
        best.append(value + max((best[k] for k in range(place) if pairs[k][1] < j), default=0.0))
    return max(best, default=0.0)


def _tau(pairs: tuple[tuple[int, int, float], ...]) -> float:
    """Kendall's τ of places said and annotated, each couple weighted by its similarities; 1 for a single pair."""
    couples = [(a[1] < b[1], a[2] * b[2]) for a, b in itertools.combinations(sorted(pairs), 2)]
    weight = sum(value for _, value in couples)
    return sum(value if rising else -value for rising, value in couples) / weight if weight else 1.0


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0
