"""Our score of a description against an annotation: precision, recall and order of its actions.

Lists are matched one to one by the assignment with the largest total similarity (Kuhn, 1955). With S the sum of its
similarities, precision is S / n over n candidate items and recall S / m over m annotated ones, so that missing and
invented subjects and actions both cost. In the chronological list, matches outside the heaviest increasing run count
half. Order is Kendall's τ of the matches, at least 0, times the F1. The composite is the mean of F1 and order of the
chronological list, which separated right from wrong descriptions better than the released weights
(docs/measurements.md).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from scipy.optimize import linear_sum_assignment

from vmmetrics.types import FloatArray
from vmmetrics.understanding.benchmarks import f1_of
from vmmetrics.understanding.benchmarks.favor.similarity import Similarity, camera_matrix

# What happens in a video, as FAVOR-Bench writes it down: camera, who does what, and in which order.

NOBODY: Final = 0
"""Subject number of actions without a subject (the scene, the light, subtitles)."""

_HEAD: Final = re.compile(
    r"\b(?:subject|character)\s*(?P<named>\d{0,6})\s*:|(?:^|[\],;\n])\s*(?:subject|character)\s*(?P<bare>\d{1,6})\s*(?=\[)",
    re.IGNORECASE,
)
"""``Subject 1:``, or ``Subject 1 [`` where a subject can begin: "Green anime character [" ends a description."""
_BRACKET: Final = re.compile(r"\[([^\]]*)\]?")
_BY: Final = re.compile(r"\(([^()]*)\)")
_LED: Final = re.compile(r"(?<![^,;\n])\s*(?:subject|character)\s*(\d{1,6})\s*\([^()]*\)([^,;()]+)", re.IGNORECASE)
"""``Character 1 (in red) opens the door``, read as ``opens the door (Subject 1)``."""
_NUMBER: Final = re.compile(r"\b(?:subject|character)s?\s*(\d{1,6})", re.IGNORECASE)
_CAMERA_LISTED: Final = re.compile(
    r"[,.;\n]|\bthen\b|\band\b(?!\s+(?:to\b|(?:left|right|up|down|in|out|for|back)(?:wards?)?\b))", re.IGNORECASE
)
"""Separators of camera motions; "down and to the left" is one motion."""
_LISTED: Final = re.compile(r"[,;\n]")
_MARKS: Final = " \t\n,.;:!?-→"


@dataclass(frozen=True, slots=True)
class ActingSubject:
    """A subject and its actions.

    Attributes:
        description: Its description ("Man", "woman in a red coat").
        actions: Its actions, in order.
    """

    description: str
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Structure:
    """Structured description of a video: camera motions, subjects and their actions.

    Attributes:
        camera: Motions of the camera, in order.
        subjects: Subjects by number from 1 (:data:`NOBODY` is never among them).
        chronology: All actions in order, each with its subject's number.
    """

    camera: tuple[str, ...] = ()
    subjects: Mapping[int, ActingSubject] = field(default_factory=dict)
    chronology: tuple[tuple[str, int], ...] = ()

    def to_released(self) -> dict[str, str]:
        """Return the structure as the released first step writes it."""
        parts = [
            f"Subject {number}: {subject.description} [{', '.join(subject.actions)}]"
            for number, subject in self.subjects.items()
        ]
        count = len(self.subjects)
        return {
            "camera_motion": ", ".join(self.camera),
            "num_subjects": "Single subject" if count == 1 else f"Multiple subjects ({count})" if count else "",
            "motion_list": " ".join(parts),
            "chronological_motion_list": ", ".join(f"{action} (Subject {who})" for action, who in self.chronology),
        }


def read_structure(fields: Mapping[str, Any]) -> Structure:
    """Read an annotation, or the output of a first step.

    ``Subject1:``, ``(subject 1)``, ``Character 1``, several brackets of one subject and a subject named again at each
    action are all in the released annotations. Where only one of the two lists can be read the other is made from it.
    """
    subjects = _subjects(_text(fields, "motion_list"))
    chronology = _chronology(_text(fields, "chronological_motion_list"))
    if not chronology:
        chronology = [(action, number) for number, subject in subjects.items() for action in subject.actions]
    if not any(subject.actions for subject in subjects.values()):
        for number in dict.fromkeys(number for _, number in chronology if number != NOBODY):
            done = tuple(action for action, who in chronology if who == number)
            description = subjects[number].description if number in subjects else f"Subject {number}"
            subjects[number] = ActingSubject(description, done)
    camera = _listed(_CAMERA_LISTED, _text(fields, "camera_motion"))
    return Structure(tuple(camera), subjects, tuple(chronology))


def _text(fields: Mapping[str, Any], name: str) -> str:
    """Return a field without insignificant spaces in its lines, so that patterns match in linear time."""
    value = fields.get(name)
    lines = value.splitlines() if isinstance(value, str) else ()
    return "\n".join(line for line in (" ".join(line.split()) for line in lines) if line)


def _listed(between: re.Pattern[str], text: str) -> list[str]:
    return [part for piece in between.split(text) if (part := piece.strip(_MARKS))]


def _subjects(text: str) -> dict[int, ActingSubject]:
    heads = list(_HEAD.finditer(text))
    if not heads and "[" in text:
        return {1: ActingSubject("Subject 1", tuple(_bracketed(text)))}
    subjects: dict[int, ActingSubject] = {}
    for index, head in enumerate(heads):
        end = heads[index + 1].start() if index + 1 < len(heads) else len(text)
        part = text[head.end() : end]
        number = int(head["named"] or head["bare"] or 1)
        if "[" not in part:
            continue
        description = part.split("[", 1)[0].strip(_MARKS)
        actions = _bracketed(part, first_may_describe=not description)
        before = subjects.get(number)
        subjects[number] = ActingSubject(
            (before.description if before else "") or description or f"Subject {number}",
            (*(before.actions if before else ()), *actions),
        )
    return subjects


def _bracketed(text: str, first_may_describe: bool = False) -> list[str]:
    """Return the actions in all brackets; for a subject without a name the first bracket is its description."""
    brackets = _BRACKET.findall(text)
    if first_may_describe and len(brackets) > 1:
        brackets = brackets[1:]
    return [action for bracket in brackets for action in _listed(_LISTED, bracket)]


def _chronology(text: str) -> list[tuple[str, int]]:
    text = _LED.sub(r"\2 (Subject \1)", text)
    items: list[tuple[str, int]] = []
    waiting: list[str] = []  # actions without a bracket of their own: whoever the next bracket names does them
    at = 0
    for by in _BY.finditer(text):
        waiting += _listed(_LISTED, text[at : by.start()])
        at = by.end()
        number = _NUMBER.search(by[1])
        who = int(number[1]) if number else 1 if by[1].strip().lower() == "subject" else NOBODY
        items += [(action, who) for action in waiting]
        waiting = []
    waiting += _listed(_LISTED, text[at:])
    for action in waiting:
        number = _NUMBER.match(action)
        items.append((action, int(number[1]) if number else NOBODY))
    return items


COMPOSITE: Final = "composite: half F1, half order of the chronology"
"""Version of the composite; results of two versions are not comparable."""
WRONG_SUBJECT: Final = 0.9
"""Factor of an action attributed to another subject than the matched one; the released code's value."""
OUT_OF_ORDER: Final = 0.5
"""Factor of a chronological match outside the longest ordered run."""
LOOKS: Final = 0.1
"""Weight of the subjects' descriptions, relative to their actions, in matching; the released code's value."""
_ORDER_PREFERENCE: Final = 1e-3
"""Penalty by distance in relative position that breaks ties, so that repeated actions keep their order."""


@dataclass(frozen=True, slots=True)
class ListMatch:
    """One-to-one match of two lists.

    Attributes:
        precision: Matched similarity per candidate item, 0..1.
        recall: The same per thing annotated.
        order: τ of the matched, at least 0, times F1.
        pairs: Candidate index, reference index, similarity above 0.
    """

    precision: float
    recall: float
    order: float
    pairs: tuple[tuple[int, int, float], ...] = ()

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return f1_of(self.precision, self.recall)


@dataclass(frozen=True, slots=True)
class CaptionScores:
    """Scores of a description.

    Attributes:
        camera: Of the camera's motions.
        subject: Of what each subject does.
        chronology: Of everything that is done, in order.
        subjects: Candidate subject number to reference number.
    """

    camera: ListMatch
    subject: ListMatch
    chronology: ListMatch
    subjects: Mapping[int, int]

    @property
    def composite(self) -> float:
        """Composite score, 0 to 1; see :data:`COMPOSITE`."""
        return (self.chronology.f1 + self.chronology.order) / 2

    def parts(self) -> dict[str, float]:
        """Scores by name; see :data:`.upstream.NAMES`."""
        figures = itertools.product(("camera", "subject", "chronology"), ("f1", "precision", "recall", "order"))
        return {f"{name} {figure}": getattr(getattr(self, name), figure) for name, figure in figures}


def texts_of(structures: Iterable[Structure]) -> list[str]:
    """Return every text that scoring compares, to embed them in one batch."""
    texts: list[str] = []
    for structure in structures:
        texts += [*structure.camera, *(action for action, _ in structure.chronology)]
        for subject in structure.subjects.values():
            texts += [subject.description, *subject.actions]
    return texts


def score(similarity: Similarity, reference: Structure, candidate: Structure) -> CaptionScores:
    """Score a description's structure.

    Args:
        similarity: Of texts.
        reference: The annotation.
        candidate: The description.

    Returns:
        Scores; identical structures have 1 everywhere, an empty description 0. What the annotation does not have (no
        camera, no actions) nobody can miss: saying nothing of it is 1, saying something 0.
    """
    camera = match(camera_matrix(similarity, candidate.camera, reference.camera))
    subject, reference_of_candidate = _match_subjects(similarity, reference, candidate)
    values = similarity.matrix(
        [action for action, _ in candidate.chronology], [action for action, _ in reference.chronology]
    )
    for i, (_, who) in enumerate(candidate.chronology):
        for j, (_, other) in enumerate(reference.chronology):
            # numbers that only the chronology has are compared as they are
            if reference_of_candidate.get(who, NOBODY if who in candidate.subjects else who) != other:
                values[i, j] *= WRONG_SUBJECT
    return CaptionScores(camera, subject, match(values, out_of_order=OUT_OF_ORDER), reference_of_candidate)


def match(values: FloatArray, out_of_order: float = 1.0) -> ListMatch:
    """Match candidate items, in rows, with reference items, in columns.

    Args:
        values: (N, M) similarities, 0..1.
        out_of_order: Factor of matches outside the heaviest run of matches in order.
    """
    n, m = values.shape
    if n == 0 or m == 0:
        nothing = float(n == m)
        return ListMatch(nothing, nothing, nothing)
    offsets = np.abs(np.linspace(0, 1, n)[:, None] - np.linspace(0, 1, m)[None, :]) if n > 1 and m > 1 else 0.0
    preferred = values - _ORDER_PREFERENCE * offsets * (values > 0)
    assigned = zip(*linear_sum_assignment(preferred, maximize=True), strict=True)
    pairs = tuple((int(i), int(j), float(values[i, j])) for i, j in assigned if values[i, j] > 0)
    whole = sum(value for *_, value in pairs)
    total = whole if out_of_order == 1 else out_of_order * whole + (1 - out_of_order) * _in_order(pairs)
    precision, recall = total / n, total / m
    return ListMatch(precision, recall, max(0.0, _tau(pairs)) * f1_of(precision, recall), pairs)


def _match_subjects(
    similarity: Similarity, reference: Structure, candidate: Structure
) -> tuple[ListMatch, dict[int, int]]:
    """Match subjects for the largest total action similarity.

    Returns:
        Match of their actions, in which unmatched subjects count with all of theirs; the reference subject of each
        matched candidate subject, by numbers.
    """
    candidate_ids, reference_ids = list(candidate.subjects), list(reference.subjects)
    if not candidate_ids or not reference_ids:
        return match(np.zeros((len(candidate_ids), len(reference_ids)))), {}
    description_similarity = similarity.matrix(
        [candidate.subjects[n].description for n in candidate_ids],
        [reference.subjects[o].description for o in reference_ids],
    )
    matches = [
        [match(similarity.matrix(candidate.subjects[n].actions, reference.subjects[o].actions)) for o in reference_ids]
        for n in candidate_ids
    ]
    action_similarity = np.array([[sum(value for *_, value in one.pairs) for one in row] for row in matches])
    candidate_indices, reference_indices = linear_sum_assignment(
        action_similarity + LOOKS * description_similarity, maximize=True
    )
    assigned = list(zip(candidate_indices.tolist(), reference_indices.tolist(), strict=True))
    candidate_count = sum(len(candidate.subjects[n].actions) for n in candidate_ids)
    reference_count = sum(len(reference.subjects[o].actions) for o in reference_ids)
    total = float(sum(action_similarity[i, j] for i, j in assigned))
    reference_of_candidate = {candidate_ids[i]: reference_ids[j] for i, j in assigned}
    if not candidate_count or not reference_count:
        return match(np.zeros((candidate_count, reference_count))), reference_of_candidate
    weighted = (matches[i][j].order * len(reference.subjects[reference_ids[j]].actions) for i, j in assigned)
    order = sum(weighted) / reference_count
    return ListMatch(total / candidate_count, total / reference_count, order), reference_of_candidate


def _in_order(pairs: tuple[tuple[int, int, float], ...]) -> float:
    """Return the weight of the heaviest increasing run of matches."""
    best: list[float] = []
    for index, (_, j, value) in enumerate(pairs):
        best.append(value + max((best[k] for k in range(index) if pairs[k][1] < j), default=0.0))
    return max(best, default=0.0)


def _tau(pairs: tuple[tuple[int, int, float], ...]) -> float:
    """Return Kendall's τ of candidate and reference positions, pairs weighted by similarity; 1 for a single match."""
    couples = [(a[1] < b[1], a[2] * b[2]) for a, b in itertools.combinations(sorted(pairs), 2)]
    weight = sum(value for _, value in couples)
    return sum(value if rising else -value for rising, value in couples) / weight if weight else 1.0
