"""Judging of captions: split into events, matched with the annotated events, classified element by element.

A judge is a model behind an endpoint, or a file of earlier judgements in the released intermediate form. Both give a
record in that form: ``candidate_caption, candidate_events, match_ids, relationship``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from json import dumps
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import EntriesByQuestion, Question
from vmmetrics.understanding.benchmarks.files import text_of
from vmmetrics.understanding.benchmarks.tuna import DATA, scoring
from vmmetrics.understanding.benchmarks.tuna.scoring import LACK, AnnotatedEvent, Pair, sentences
from vmmetrics.utils.endpoint.asking import in_words, list_shape, object_shape
from vmmetrics.utils.endpoint.client import AskedQuestion as Ask
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import CostEstimate, Turn
from vmmetrics.utils.tables import read_rows

_WORDS: Final[Mapping[str, str]] = DATA["cap"]["judge"]
_ANSWER_TOKENS: Final = 200  # of a usual answer: a TUNA caption has 231, its video 17.5 elements (paper, table 2)


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption to judge, and the annotated events of its video."""

    question: Question
    text: str
    events: tuple[AnnotatedEvent, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """Judgement of a caption.

    Attributes:
        record: In the released intermediate form; None where there is no judgement.
        why: Reason for a missing judgement.
        mended: Repairs as text, with counts.
        position: Of the record in the file it is from; the released scorer adds up in that order.
    """

    record: Mapping[str, Any] | None
    why: str = ""
    mended: Mapping[str, int] = field(default_factory=dict)
    position: int = 0


class RecordedJudge:
    """Judge whose judgements are read from a file.

    Args:
        path: Of the file, in the released intermediate form.
        questions: All that are there.
        as_it_is: Whether it is believed as the released scorer believes it: found by its index alone, whatever caption
            it was made of.

    Raises:
        SetupError: It cannot be read, has no records, or none of one of the questions.
    """

    def __init__(self, path: Path, questions: Sequence[Question], as_it_is: bool) -> None:
        rows = [row for row in read_rows(path) if isinstance(row, Mapping)]
        records = {text_of(row["index"]): row for row in rows if "index" in row and "relationship" in row}
        if not records:
            raise SetupError(f"{path}: no judgements found; expected a list of objects with index and relationship")
        numbered = {key: (position, record) for position, (key, record) in enumerate(records.items())}
        self._entries = EntriesByQuestion(numbered, questions, exact=as_it_is)
        self._as_it_is = as_it_is
        if questions and not as_it_is and all(self._entries.of(question) is None for question in questions):
            theirs, ours = next(iter(records)), questions[0].id
            raise SetupError(
                f"None of the {len(records)} judgements matches a caption: their index looks like {theirs!r}, "
                f"the captions' like {ours!r}"
            )

    def judged(self, captions: Sequence[Caption]) -> Iterable[tuple[Caption, Judged]]:
        """Yield each caption with its record, which must judge the same caption."""
        for caption in captions:
            position, record = self._entries.of(caption.question) or (0, None)
            if record is None:
                yield caption, Judged(None, "the recorded judge has no judgement of it")
            elif self._as_it_is or _plain(record.get("candidate_caption")) in ("", _plain(caption.text)):
                yield caption, Judged(record, position=position)
            else:
                yield caption, Judged(None, "the recorded judge judged another caption")


class EventJudge:
    """Judge model behind an endpoint, asked three questions per caption.

    It splits the caption into events, matches them with the annotated events, and classifies how the caption treats
    each visual element. Every answer is validated; invalid splits or matches are repaired where they can be, and
    counted; else there is no judgement.

    Args:
        client: Client of the endpoint.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def judged(self, captions: Sequence[Caption]) -> Iterable[tuple[Caption, Judged]]:
        """Yield each caption with its judgement, in order of completion.

        Raises:
            VMMetricsError: As :meth:`vmmetrics.utils.endpoint.client.Client.work_through`.
        """
        return self._client.work_through(self._judge, captions)

    def estimate(self, captions: Iterable[Caption]) -> CostEstimate:
        """Estimate the cost of judging, assuming one event a sentence in the annotated order.

        A caption whose first question was answered before takes nothing.
        """
        todo = [caption for caption in captions if any(self._client.unanswered([_to_split(caption)]))]
        asks: list[Ask[Any]] = []
        for caption in todo:
            events = sentences(caption.text)
            pairs = [(n, n if n <= len(caption.events) else None) for n in range(1, len(events) + 1)]
            texts = scoring.texts_of_references(pairs, events, len(caption.events))
            indices = [index for index, text in enumerate(texts) if text and caption.events[index].elements]
            asks += [_to_split(caption), _to_match(events, caption.events)]
            asks += [_to_classify(indices, caption.events, texts)] if indices else []
        return self._client.estimate(asks, _ANSWER_TOKENS)

    def _judge(self, caption: Caption) -> Judged:
        mended: dict[str, int] = {}
        try:
            events = self._split(caption, mended)
            pairs = self._match(events, caption.events, mended)
            texts = scoring.texts_of_references(pairs, events, len(caption.events))
            relationship = self._classify(caption.events, texts)
        except _NoJudgementError as error:
            return Judged(None, str(error))
        record = {
            "index": caption.question.id,
            "candidate_caption": caption.text,
            "candidate_events": events,
            "match_ids": [list(pair) for pair in pairs],
            "relationship": relationship,
        }
        return Judged(record, mended=mended)

    def _split(self, caption: Caption, mended: dict[str, int]) -> list[str]:
        """Return the events of the caption; its sentences if the judge keeps changing the words."""

        def check(value: dict[str, Any]) -> str | None:
            whole = scoring.is_caption(caption.text, value["events"])
            return None if whole else "the events, joined with spaces, are not the description word by word"

        answer = self._client.ask(replace(_to_split(caption), check=check))
        if answer.value is not None:
            return [event for event in answer.value["events"] if sentences(event)]  # those with words
        own = sentences(caption.text)
        if answer.kind != "unusable" or not own:
            raise _NoJudgementError(f"split: {answer.why}")
        mended["captions cut into sentences by us"] = 1
        return own

    def _match(
        self, candidates: Sequence[str], events: Sequence[AnnotatedEvent], mended: dict[str, int]
    ) -> tuple[Pair, ...]:
        """Return matches in temporal order; if the judge violates it, its longest ordered subset."""
        complete: list[list[Pair]] = []  # all that was answered without a gap, in whatever order of time

        def check(value: dict[str, Any]) -> str | None:
            numbers = ((pair["candidate"], pair["reference"]) for pair in value["pairs"])
            pairs = [(int(one), None if other is None else int(other)) for one, other in numbers]
            problem = scoring.pairs_problem(pairs, len(candidates), len(events))
            if problem is None:
                complete.append(pairs)
            return problem or scoring.order_problem(pairs)

        answer = self._client.ask(replace(_to_match(candidates, events), check=check))
        if answer.kind not in ("answered", "unusable") or not complete:
            raise _NoJudgementError(f"match: {answer.why}")
        ordered = scoring.in_order(complete[-1])
        back = sum(pair != pair_before for pair, pair_before in zip(ordered, complete[-1], strict=True))
        if back:
            mended["matches against the order of time, taken back"] = back
        return ordered

    def _classify(self, events: Sequence[AnnotatedEvent], texts: Sequence[str]) -> list[dict[str, Any]]:
        """Return labels in the released form; all elements of an unmatched event are lacking."""
        indices = [index for index, text in enumerate(texts) if text and events[index].elements]
        labels = [[LACK] * len(event.elements) for event in events]

        def check(value: dict[str, Any]) -> str | None:
            for number, (judged, index) in enumerate(zip(value["events"], indices, strict=True), 1):
                if judged["event"] != number:
                    return f"expected events 1 to {len(indices)} in order"
                count = len(events[index].elements)
                if [one["element"] for one in judged["elements"]] != list(range(1, count + 1)):
                    return f"event {number}: expected elements 1 to {count} in order"
            return None

        if indices:
            answer = self._client.ask(replace(_to_classify(indices, events, texts), check=check))
            if answer.value is None:
                raise _NoJudgementError(f"classify: {answer.why}")
            for index, judged in zip(indices, answer.value["events"], strict=True):
                labels[index] = [one["relationship"] for one in judged["elements"]]
        return [
            {
                "candidate_event": text,
                "visual_elements": [
                    {"content": element.content, "relationship": label}
                    for element, label in zip(event.elements, row, strict=True)
                ],
            }
            for event, text, row in zip(events, texts, labels, strict=True)
        ]


class _NoJudgementError(Exception):
    """No judgement of a caption; the message is the reason."""


def caption_events(question: Question) -> tuple[AnnotatedEvent, ...]:
    """Return the annotated events of a question."""
    return scoring.events_of(question.reference.get("events"))


def _plain(text: Any) -> str:
    return " ".join(text_of(text).split())


def _to_split(caption: Caption) -> Ask[Any]:
    shape = object_shape({"events": list_shape({"type": "string", "minLength": 1}, 1)})
    return Ask("split", _turns("split", shape, {"description": caption.text}), shape)


def _to_match(candidates: Sequence[str], events: Sequence[AnnotatedEvent]) -> Ask[Any]:
    numbers = {"candidate": {"type": "integer"}, "reference": {"type": ["integer", "null"]}}
    shape = object_shape({"pairs": list_shape(object_shape(numbers), len(candidates), len(candidates))})
    asked = {"candidate events": _numbered(candidates), "reference events": _numbered(e.text for e in events)}
    return Ask("match", _turns("match", shape, asked), shape)


def _to_classify(indices: Sequence[int], events: Sequence[AnnotatedEvent], texts: Sequence[str]) -> Ask[Any]:
    label = {"type": "string", "enum": list(scoring.LABELS)}
    element = object_shape({"element": {"type": "integer"}, "relationship": label})
    event = object_shape({"event": {"type": "integer"}, "elements": list_shape(element, 0)})
    shape = object_shape({"events": list_shape(event, len(indices), len(indices))})
    asked = [
        {
            "event": number,
            "candidate": texts[index],
            "elements": _numbered((one.content for one in events[index].elements), "element"),
        }
        for number, index in enumerate(indices, 1)
    ]
    return Ask("classify", _turns("classify", shape, {"events": asked}), shape)


def _turns(stage: str, shape: Mapping[str, Any], asked: Mapping[str, Any]) -> tuple[Turn, ...]:
    system = f"{_WORDS['system']} {in_words(shape)}"
    return Turn("system", system), Turn(
        "user", f"{_WORDS[stage].strip()}\n\n{dumps(asked, ensure_ascii=False, indent=1)}"
    )


def _numbered(texts: Iterable[str], name: str = "event") -> list[dict[str, Any]]:
    return [{name: number, "text": text} for number, text in enumerate(texts, 1)]
