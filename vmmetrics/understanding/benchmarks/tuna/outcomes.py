"""From what a judge made of a caption to what the caption gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.tuna.judging import Judged, caption_events
from vmmetrics.understanding.benchmarks.tuna.reading import text_of
from vmmetrics.understanding.benchmarks.tuna.scoring import LACK, Pair, in_order, labels_of, released_scores, scores
from vmmetrics.understanding.harness.benchmark import Scored

HALLUCINATION: Final = "hallucination"
"""Share of a caption's events that match no event of the video, or none in the order of time, 0..1."""
PLACE: Final = "place"
"""Name in the detail of where a record is in its file."""
_SHOWN: Final = ("candidate_events", "match_ids", "relationship")


def unscored(question: Question, why: str) -> Scored:
    """A caption that no score can be had for."""
    return Scored(question.id, None, answered=False, detail={"why": why})


def outcome(question: Question, judged: Judged) -> Scored:
    """Ours: no score where the judge made nothing of the caption that can be used.

    What a judgement does not say of an element is lacking. Matches are kept as far as they keep the order of time, and
    an event without a match has nothing entailed or contradicted.
    """
    events = caption_events(question)
    if judged.record is None:
        return unscored(question, judged.why)
    relationship = judged.record.get("relationship")
    if not isinstance(relationship, list) or len(relationship) != len(events):
        return unscored(question, "the judgement is not of the annotated events")
    labels, unread = labels_of(relationship, events)
    if unread and unread == sum(map(len, labels)):
        return unscored(question, "no label of the judgement can be read")
    mended = dict(judged.mended)
    if unread:
        mended["elements without a label that can be read: lacking"] = unread
    found = _matches(judged.record, len(events), mended)
    parts = {}
    if found:
        kept = in_order(found)
        back = sum(pair != given for pair, given in zip(kept, found, strict=True))
        if back:
            mended["matches against the order of time, taken back"] = back
        matched = {reference for _, reference in kept}
        labels = [given if place in matched else [LACK] * len(given) for place, given in enumerate(labels, 1)]
        parts[HALLUCINATION] = sum(reference is None for _, reference in kept) / len(kept)
    parts |= scores(events, labels)
    if "f1" not in parts:
        return unscored(question, "no annotated element has a weight")
    shown = {name: judged.record[name] for name in _SHOWN if name in judged.record}
    detail = shown | ({"mended": mended} if mended else {})
    return Scored(question.id, parts["f1"], parts=parts, detail=detail)


def nothing_said(question: Question) -> Scored:
    """Ours, of a video without a caption: 0, and no judge is asked."""
    parts = scores(caption_events(question), [])
    return Scored(question.id, parts.get("f1"), answered=False, parts=parts, detail={"why": "there is no caption"})


def released_outcome(question: Question, judged: Judged) -> Scored:
    """As the released scorer: nothing where there is no judgement, or one of another number of events."""
    relationship = None if judged.record is None else judged.record.get("relationship")
    parts = released_scores(question.reference["events"], relationship)
    if parts is None:
        return unscored(question, judged.why or "the judgement is not of the annotated events")
    return Scored(question.id, parts.get("f1"), parts=parts, detail={"relationship": relationship, PLACE: judged.place})


def _matches(record: Mapping[str, Any], references: int, mended: dict[str, int]) -> list[Pair]:
    """One pair for each candidate event, from a file: numbers that are none of an event's mean no match.

    Empty where the file has no matches or none that can be read: labels then stand as they are.
    """
    candidates, pairs = record.get("candidate_events"), record.get("match_ids")
    if not isinstance(candidates, list) or not isinstance(pairs, list):
        return []
    read = [tuple(map(_number, pair)) for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    known = [(candidate, reference) for candidate, reference in read if candidate is not None]
    if len(known) < len(pairs):
        mended["matches that cannot be read"] = len(pairs) - len(known)
    found: dict[int, int | None] = {}
    for candidate, reference in known:
        inside = reference is not None and 1 <= reference <= references
        found.setdefault(candidate, reference if inside else None)
    return [(number, found.get(number)) for number in range(1, len(candidates) + 1)] if known else []


def _number(value: object) -> int | None:
    """The number that 3, 3.0 and "3" are; None for what is none."""
    text = text_of(value).removesuffix(".0")
    return int(text) if text.isdecimal() and len(text) < 10 else None
