"""TUNA-CAP's arithmetic: from what a judge said of each visual element to weighted precision, recall and F1.

With E the weight of what is entailed, C of what is contradicted and W of everything: P = E / (E + C), R = E / W, F1
their harmonic mean; over all elements and over each type that a video has. Kong et al., "TUNA", section 3.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vmmetrics.understanding.tuna.reading import DATA, text_of

TYPES: Final[tuple[str, ...]] = tuple(DATA["cap"]["element_types"])
MEASURES: Final = ("precision", "recall", "f1")
ENTAILMENT: Final = "entailment"
CONTRADICTION: Final = "contradiction"
LACK: Final = "lack"
LABELS: Final = (ENTAILMENT, LACK, CONTRADICTION)

_WEIGHTS: Final[Sequence[int]] = DATA["cap"]["weights"]
_STEMS: Final = {"entail": ENTAILMENT, "contradict": CONTRADICTION, "lack": LACK, "missing": LACK, "neutral": LACK}
"""How labels begin that mean one of the three."""

Parts = dict[str, float]


@dataclass(frozen=True, slots=True)
class Element:
    """Something that is to be seen in a video.

    Attributes:
        content: What, in words.
        type: One of :data:`TYPES`; None where the file has another, it then counts in all elements only.
        weight: How much it counts; 0 where the file says nothing that can be used.
    """

    content: str
    type: str | None
    weight: float


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a video, as people annotated it."""

    text: str
    elements: tuple[Element, ...]


def events_of(value: Any, problems: Counter[str] | None = None) -> tuple[Event, ...]:
    """Annotated events, from the released form.

    Args:
        value: ``[{"event": "...", "visual_elements": [{"content": "...", "type": "action", "weight": 3}]}]``.
        problems: What was wrong is counted here.
    """
    counted: Counter[str] = Counter() if problems is None else problems
    found = []
    for event in value if isinstance(value, list) else []:
        if not isinstance(event, Mapping):
            counted["annotated events that are no objects"] += 1
        fields = event if isinstance(event, Mapping) else {}
        elements = fields.get("visual_elements")
        read = [_element(one, counted) for one in (elements if isinstance(elements, list) else [])]
        found.append(Event(text_of(fields.get("event")), tuple(read)))
    return tuple(found)


def _element(value: Any, problems: Counter[str]) -> Element:
    fields = value if isinstance(value, Mapping) else {}
    kind, weight = text_of(fields.get("type")).lower(), fields.get("weight")
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < float("inf"):
        problems["visual elements without a weight, which count for nothing"] += 1
        weight = 0  # it keeps its place: judgements are paired by that
    elif weight not in _WEIGHTS:
        problems[f"visual elements with a weight other than {', '.join(map(str, _WEIGHTS))}"] += 1
    if kind not in TYPES:
        problems["visual elements of no known type, counted in all only"] += 1
    return Element(text_of(fields.get("content")), kind if kind in TYPES else None, weight)


def label_of(value: Any) -> str | None:
    """One of :data:`LABELS`, however it is written; None for what is none of them.

    >>> label_of(" Entailed."), label_of("maybe")
    ('entailment', None)
    """
    text = text_of(value).casefold().strip(" .\"'*`") if isinstance(value, str) else ""
    return next((label for stem, label in _STEMS.items() if text.startswith(stem)), None)


def scores(events: Sequence[Event], labels: Sequence[Sequence[str]]) -> Parts:
    """Precision, recall and F1 over all elements (``"f1"``) and over each type that is there (``"camera f1"``).

    Args:
        events: The annotated events.
        labels: A label for each element of each event; an element without one is lacking, and counts.
    """
    tally: defaultdict[tuple[str, str], float] = defaultdict(float)
    for place, event in enumerate(events):
        given = labels[place] if place < len(labels) else ()
        for number, element in enumerate(event.elements):
            label = given[number] if number < len(given) else LACK
            for scope in ("", *([f"{element.type} "] if element.type else [])):
                tally[scope, label] += element.weight
                tally[scope, "all"] += element.weight
    found: Parts = {}
    for scope in ("", *(f"{kind} " for kind in TYPES)):
        if tally[scope, "all"]:
            values = _measures(tally[scope, ENTAILMENT], tally[scope, CONTRADICTION], tally[scope, "all"])
            found |= {f"{scope}{name}": value for name, value in zip(MEASURES, values, strict=True)}
    return found


def _measures(entailed: float, contradicted: float, whole: float) -> tuple[float, float, float]:
    precision = entailed / (entailed + contradicted) if entailed + contradicted else 0.0
    recall = entailed / whole
    both = precision + recall
    return precision, recall, 2 * precision * recall / both if both else 0.0


def released_scores(events: Any, relationship: Any) -> Parts | None:
    """The released scorer's figures of one video, with three decimals; None where it drops the video.

    It pairs events and elements by position and leaves out of the whole weight what has no partner, and any event
    whose judgement has no list of elements; a label counts only as it is spelled in :data:`LABELS`.

    Args:
        events: As they are in the annotations' file.
        relationship: As it is in the intermediate file.
    """
    if not isinstance(relationship, Sequence | Mapping) or len(relationship) != len(events):
        return None
    taken, labels = [], []
    for event, judged in zip(events, relationship, strict=True):
        pairs = list(_released_pairs(event, judged))
        taken.append(Event("", tuple(Element("", one.get("type"), one["weight"]) for one, _ in pairs)))
        labels.append([label if label in (ENTAILMENT, CONTRADICTION) else LACK for _, label in pairs])
    return {name: round(value, 3) for name, value in scores(taken, labels).items()}


def _released_pairs(event: Any, judged: Any) -> Iterable[tuple[Mapping[str, Any], Any]]:
    if not (isinstance(event, Mapping) and isinstance(judged, Mapping)):
        return []
    known, said = event.get("visual_elements"), judged.get("visual_elements")
    if not (isinstance(known, list) and isinstance(said, list)):
        return []
    labels = [one.get("relationship", LACK) if isinstance(one, Mapping) else LACK for one in said]
    return [pair for pair in zip(known, labels, strict=False) if isinstance(pair[0].get("weight"), int | float)]
