"""FAVOR-Bench's second step as released: scores of a description's structure against the annotation's.

Kept with everything that makes it score an unrelated description .40 (docs/understanding.md lists it); :mod:`.scores`
is ours. A description and an annotation are mappings with ``camera_motion``, ``motion_list`` and
``chronological_motion_list``, strings all. Its word lists and constants are under ``upstream`` in ``favor.toml``.
"""

from __future__ import annotations

import io
import itertools
import pickle
import pickletools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np
from scipy.optimize import linear_sum_assignment

from vmmetrics.errors import SetupError, cannot
from vmmetrics.understanding.benchmarks import f1_of
from vmmetrics.understanding.benchmarks.favor.lexicon import VERBS, word_set
from vmmetrics.understanding.benchmarks.favor.released_similarity import (
    DATA,
    Embed,
    NltkWords,
    PlainWords,
    ReleasedSimilarity,
)
from vmmetrics.utils.storage.opening import read_regular

WEIGHTS: Final[Mapping[str, float]] = DATA["weights"]
"""Weights of the composite; they sum to 1."""
NAMES: Final = tuple(
    f"{part} {name}" for part in ("camera", "subject", "chronology") for name in ("f1", "precision", "recall", "order")
)
_PERSONS: Final = [
    (float(boost), word_set(pair)) for boost, pairs in DATA["persons"].items() for pair in pairs.split(", ")
]

# The released verb lists, read from the user's copy of its pickle without running code.

FILE: Final = "action_extraction_dicts.pkl"
_VERB_LISTS: Final = ("COMMON_VERBS", "PHRASAL_VERBS")
_LARGEST: Final = 2**20  # bytes; the released file has 50 kB
_STEPS: Final = word_set(
    """
    PROTO FRAME STOP MARK EMPTY_LIST LIST APPEND APPENDS EMPTY_DICT DICT SETITEM SETITEMS
    UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET
    """
)
"""Allowed opcodes: those that build lists, mappings and strings. Sets and mappings of nested tuples could make Python
recurse without bounds."""


class _Strings(pickle.Unpickler):
    """Unpickler that refuses classes and functions, as a second barrier after the check of opcodes."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


def read_verbs(path: Path) -> frozenset[str]:
    """Read the action verbs of the released second step, from the pickle or its folder.

    Raises:
        SetupError: It is not there, too large, lacks a list, or holds anything but lists, mappings and strings.
    """
    path = next(iter(sorted(path.rglob(FILE))), path / FILE) if path.is_dir() else path
    try:
        data = read_regular(path, _LARGEST)
    except OSError as error:
        raise cannot("read", path, error) from error
    try:
        for step, argument, _ in pickletools.genops(data):  # before any of them runs
            if step.name not in _STEPS:
                raise pickle.UnpicklingError(f"it has a {step.name}")
            if step.name.endswith("PUT") and int(argument or 0) > len(data):  # a place that takes memory for nothing
                raise pickle.UnpicklingError(f"it counts to {argument}")
        value = _Strings(io.BytesIO(data)).load()
    except Exception as error:  # a hostile pickle can raise anything
        raise SetupError(f"{path}: not a pickle of word lists: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise SetupError(f"{path}: expected word lists by name")
    missing = [name for name in _VERB_LISTS if name not in value]
    if missing:
        raise SetupError(f"{path} lacks {', '.join(missing)} of FAVOR-Bench's word lists")
    lists = [value[name] for name in _VERB_LISTS]
    if not all(isinstance(words, list) and all(isinstance(word, str) for word in words) for words in lists):
        raise SetupError(f"{path}: expected lists of words")
    return frozenset(itertools.chain.from_iterable(lists))


def open_similarity(lists: Path | None, embed: Embed | None) -> ReleasedSimilarity:
    """Return the released similarity, with NLTK where it and its data are installed.

    Args:
        lists: The released verb lists; None takes verbs of ours.
        embed: Sentence embedding, or None.

    Raises:
        SetupError: The lists cannot be read.
    """
    verbs = VERBS if lists is None else read_verbs(lists)
    try:
        return ReleasedSimilarity(NltkWords(), verbs, embed)
    except SetupError:
        return ReleasedSimilarity(PlainWords(), verbs, embed)


# The annotation's strings into lists, exactly as the released second step reads them, with what it misreads.
#
# ``Subject 1: Man [a, b] Subject 2: ...``, ``a (Subject 1), b (Subject 2)`` and ``pan left, stationary``. A text that
# does not fit (one in 75 of the released annotations) gives nothing, a repeated subject keeps its last bracket, and
# every item of a chronological list but the first keeps the comma before it.

Subjects = dict[int, tuple[str, list[str]]]
"""Description and actions of each subject by number."""

_DESCRIBED: Final = re.compile(r"Subject (\d+):?\s+(.*?)\s*\[(.*?)\]")
_BARE: Final = re.compile(r"Subject (\d+)\s*\[(.*?)\]")
_IN_LINE: Final = re.compile(r"subject\s+(\d+)")
_LINE_DESCRIPTION: Final = re.compile(r"subject\s+\d+:\s*(.*?)\s*\[")
_BRACKET: Final = re.compile(r"\[(.*?)\]")
_DONE_BY: Final = re.compile(r"(.*?)\s*\(Subject (\d+)\)")
_LAST_MARK: Final = re.compile(r"[,.;!?]$")
_LISTED: Final = re.compile(r"[,;]|\s+and\s+")
_CAMERA_LISTED: Final = re.compile(r"[;]|\s+then\s+|\s+and\s+")


def parse_subjects(text: object) -> Subjects:
    """Parse the subjects of a motion list; anything but text has none."""
    if not isinstance(text, str):
        return {}
    subjects = [(number, description.strip(), actions) for number, description, actions in _DESCRIBED.findall(text)]
    subjects = subjects or [(number, f"Subject {int(number)}", actions) for number, actions in _BARE.findall(text)]
    for line in () if subjects else text.split("\n"):
        number, actions = _IN_LINE.search(line.lower()), _BRACKET.search(line)
        if number and actions:
            described = _LINE_DESCRIPTION.search(line.lower())
            subjects.append((number[1], described[1].strip() if described else f"Subject {int(number[1])}", actions[1]))
    bracket = _BRACKET.search(text)
    if not subjects and bracket:
        subjects = [("1", "Subject 1", bracket[1])]
    return {int(number): (description, _actions(done.strip())) for number, description, done in subjects}


def _actions(text: str) -> list[str]:
    parts = text.split(",") if "," in text else _LISTED.split(text)
    cleaned = (_LAST_MARK.sub("", part.strip()).strip() for part in parts if part.strip())
    return [action for action in cleaned if action]


def parse_chronology(text: object) -> list[tuple[str, int]]:
    """Parse the actions of a chronological list with their subject numbers; anything but text has none."""
    if not isinstance(text, str):
        return []
    matches = _DONE_BY.findall(text)
    items = [(action.strip(), int(number)) for action, number in matches if action.strip()]
    if not matches:
        items = [item for part in re.split(r",\s*", text) if (item := _item(part.strip())) is not None]
    return [(_LAST_MARK.sub("", action).strip(), number) for action, number in items]


def _item(part: str) -> tuple[str, int] | None:
    if "(" not in part or ")" not in part:
        return None
    opened = part.rfind("(")
    action, subject = part[:opened].strip(), part[opened + 1 : part.rfind(")")].strip()
    words = subject.split()
    if not action or not subject.lower().startswith("subject") or len(words) < 2:
        return None
    try:
        return action, int(words[1])
    except ValueError:
        return None


def parse_camera(text: object) -> list[str]:
    """Parse the camera motions of a list, each with the word camera; an empty text is one, ``"Camera "``."""
    if not isinstance(text, str):
        return []
    text = re.sub(r"\s+", " ", text.strip())
    if "," in text:
        segments = [part.strip() for part in text.split(",")]
    elif "." in text:
        segments = [part.strip() for part in text.split(".") if part.strip()]
    elif "camera" in text.lower():
        segments = [part.strip() for part in re.split(r"(?=camera\s)", text.lower()) if part]
    else:
        segments = [part.strip() for part in _CAMERA_LISTED.split(text) if part.strip()]
    return [part if "camera" in part.lower() else f"Camera {part}" for part in segments or [text]]


def released_scores(
    similarity: ReleasedSimilarity, annotation: Mapping[str, Any], caption: Mapping[str, Any]
) -> dict[str, float]:
    """Score a description: :data:`NAMES` and ``"composite"``, each 0 to 1.

    All are 0 where the released code fails (an annotation whose subjects do nothing, a field that is
    None, a number of thousands of digits).
    """
    sides = annotation, caption
    try:
        camera = _camera(similarity, *(side.get("camera_motion", "") for side in sides))
        subject = _subjects(similarity, *(parse_subjects(side.get("motion_list", "")) for side in sides))
        chronology = _chronology(
            similarity, *(parse_chronology(side.get("chronological_motion_list", "")) for side in sides)
        )
    except (ZeroDivisionError, AttributeError, ValueError):
        return dict.fromkeys((*NAMES, "composite"), 0.0)
    scores = dict(zip(NAMES, itertools.chain(camera, subject, chronology), strict=True))
    return scores | {"composite": sum(weight * scores[name] for name, weight in WEIGHTS.items())}


def _camera(similarity: ReleasedSimilarity, reference: Any, candidate: Any) -> tuple[float, float, float, float]:
    if not reference or not reference.strip():
        return 1.0, 1.0, 1.0, 1.0
    candidate_actions, reference_actions = parse_camera(candidate), parse_camera(reference)
    if not candidate_actions or not reference_actions:
        return 0.0, 0.0, 0.0, 0.0
    precision, recall, order, _ = _match(similarity, candidate_actions, reference_actions, 0.3 * 0.8)
    return f1_of(precision, recall), precision, recall, order


def _subjects(
    similarity: ReleasedSimilarity, reference: Subjects, candidate: Subjects
) -> tuple[float, float, float, float]:
    rows, weights = [], []
    for candidate_id, reference_id in _match_subjects(similarity, reference, candidate).items():
        candidate_actions, reference_actions = candidate[candidate_id][1], reference[reference_id][1]
        precision, recall, order, _ = _match(similarity, candidate_actions, reference_actions, DATA["threshold"])
        rows.append((f1_of(precision, recall), precision, recall, order))
        weights.append(len(reference_actions))
    if not rows:
        return 0.0, 0.0, 0.0, 0.0
    f1, precision, recall, order = (
        sum(value * weight for value, weight in zip(column, weights, strict=True)) / sum(weights)
        for column in zip(*rows, strict=True)
    )
    return f1, precision, recall, order


def _chronology(
    similarity: ReleasedSimilarity, reference: Sequence[tuple[str, int]], candidate: Sequence[tuple[str, int]]
) -> tuple[float, float, float, float]:
    if not reference or not candidate:
        return 0.0, 0.0, 0.0, 0.0
    candidate_actions, reference_actions = [action for action, _ in candidate], [action for action, _ in reference]
    precision, recall, order, pairs = _match(similarity, candidate_actions, reference_actions, DATA["threshold"])
    same = float(np.mean([candidate[i][1] == reference[j][1] for i, j in pairs.items()])) if pairs else 0.0
    precision, recall = precision * (0.9 + 0.1 * same), recall * (0.9 + 0.1 * same)
    return f1_of(precision, recall), precision, recall, order


def _match_subjects(similarity: ReleasedSimilarity, reference: Subjects, candidate: Subjects) -> dict[int, int]:
    """Return the reference subject of each candidate subject that is matched, the most similar pairs first."""
    if not reference or not candidate:
        return {}
    candidate_ids, reference_ids = list(candidate), list(reference)
    similarities = np.array(
        [[_subject_likeness(similarity, candidate[n], reference[o]) for o in reference_ids] for n in candidate_ids]
    )
    matches = [
        (candidate_ids[i], reference_ids[j], similarities[i, j])
        for i, j in zip(*linear_sum_assignment(-similarities), strict=True)
    ]
    matches.sort(key=lambda match: match[2], reverse=True)
    likely = [match for match in matches if match[2] > 0.15]
    return {candidate_id: reference_id for candidate_id, reference_id, _ in likely or matches[:1]}


def _subject_likeness(
    similarity: ReleasedSimilarity, subject: tuple[str, list[str]], other: tuple[str, list[str]]
) -> float:
    description, reference = subject[0].lower(), other[0].lower()
    words, others = set(description.split()), set(reference.split())
    boosts = [
        boost * (DATA["same_person"] if words & others & pair else 1.0)
        for boost, pair in _PERSONS
        if words & pair and others & pair
    ]
    likeness = min(1.0, similarity.texts(description, reference) + max(boosts, default=0.0))
    actions, reference_actions = subject[1], other[1]
    if not actions or not reference_actions:
        return likeness
    whole = similarity.texts(" ".join(actions), " ".join(reference_actions))
    values = similarity.matrix(actions, reference_actions)
    if values.max() > 0:
        whole = 0.2 * whole + 0.8 * (values.max(axis=1).mean() + values.max(axis=0).mean()) / 2
    return float(0.1 * likeness + 0.95 * whole)


def _match(
    similarity: ReleasedSimilarity, actions: Sequence[str], others: Sequence[str], threshold: float
) -> tuple[float, float, float, dict[int, int]]:
    """Match each action to its most similar one, then joint runs of two or three actions.

    Returns:
        Share of the actions that is matched, times how well, times a factor for the lengths; the same of the others;
        their order (:func:`_order`); places that go together, in order of matching.
    """
    n, m = len(actions), len(others)
    if not n or not m:
        return 0.0, 0.0, _order({}, n, m), {}
    values = similarity.matrix(actions, others)
    spread = values.mean() - 0.5 * values.std()
    threshold = min(threshold, max(0.25, min(0.7, spread)))
    pairs: dict[int, tuple[int, float]] = {}
    for i, row in enumerate(values):
        j = int(row.argmax())
        if row[j] >= threshold and abs(i - j) <= DATA["farthest"]:
            pairs[i] = (j, float(row[j]))
    windows = [range(i, i + size) for size in range(2, min(3, n) + 1) for i in range(n - size + 1)]
    joined = {window: " ".join(actions[window.start : window.stop]) for window in windows}
    similarity.prepare([joined[window] for window in windows if not all(k in pairs for k in window)])
    for window in windows:
        if all(k in pairs for k in window):
            continue
        for j, other in enumerate(others):  # to every other action in turn that suits it better than its members
            likeness = similarity.actions(joined[window], other)
            members = [k for k in window if k in pairs]
            mean = sum(values[k, pairs[k][0]] for k in members) / max(1, len(members))
            if likeness > threshold + 0.1 and abs(window[0] - j) <= DATA["farthest"] and likeness > mean:
                for k in members:
                    del pairs[k]
                pairs[window[0]] = (j, likeness)
    if not pairs:
        return 0.0, 0.0, _order({}, n, m), {}
    quality = float(np.mean([score for _, score in pairs.values()]))
    quality *= 1 - (1 - min(n, m) / max(n, m)) * 0.2
    assigned = {i: j for i, (j, _) in pairs.items()}
    recall = len(set(assigned.values())) / m * quality
    return len(pairs) / n * quality, recall, _order(assigned, n, m), assigned


def _order(pairs: Mapping[int, int], n: int, m: int) -> float:
    """Return Kendall's τ of the matches, rescaled to 0.5..1; below three matches a value by the lengths."""
    few, penalty = DATA["few"], float(DATA["few_penalty"])
    if len(pairs) < few:
        if n >= few:
            return 1 - penalty * 1.5
        return 1 - penalty if m >= few else 1.0
    first: dict[int, int] = {}
    for i in sorted(pairs):
        first.setdefault(pairs[i], i)
    ordered = sorted((i, j) for j, i in first.items())
    couples = list(itertools.combinations(ordered, 2))
    rising = sum(a[1] < b[1] for a, b in couples)
    concordance = rising / len(couples) if couples else 1.0
    return 1 - (1 - concordance) * 0.5
