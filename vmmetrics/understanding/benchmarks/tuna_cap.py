"""TUNA-CAP: dense captions, scored event by event with a judge model.

A judge splits a caption into events, matches them with the annotated ones and says of each annotated visual element
whether the caption entails, contradicts or lacks it: weighted precision, recall and F1, by element type and by visual
characteristic. Kong et al., "TUNA", ACL 2025.

``protocol="upstream"`` is the released scorer on its intermediate files: three decimals, videos without a usable
judgement left out. Ours: a video without a caption counts 0, and beside it is the mean over those with one; what the
judge failed at has no score, and is counted; nothing is left out of the whole weight; events of a caption that happen
nowhere in the video, or not then, are reported as its hallucination rate. Judging itself is the same under both.
"""

# ruff: noqa: ARG002 - of an interface

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from operator import add
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import SetupError
from vmmetrics.models.questions import Answered, EntriesByQuestion, LoadedBenchmark, Question, answer_text
from vmmetrics.understanding.benchmarks import tuna as files
from vmmetrics.understanding.benchmarks.files import Row, text_of
from vmmetrics.understanding.benchmarks.tuna import judging, scoring
from vmmetrics.understanding.benchmarks.tuna.judging import Judged, caption_events
from vmmetrics.understanding.benchmarks.tuna.scoring import LACK, MEASURES, TYPES, events_of
from vmmetrics.understanding.harness.benchmark import Benchmark, Figure, Scored, Scoring
from vmmetrics.understanding.harness.statistics import ALL, figure, grouped, part, subsets
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import CostEstimate
from vmmetrics.utils.tables import nothing_found, read_rows, sha256_of

# From what a judge made of a caption to what the caption gets.

HALLUCINATION: Final = "hallucination"
"""Share of a caption's events without a match in temporal order, 0 to 1."""
_SHOWN: Final = ("candidate_events", "match_ids", "relationship")


def unscored(question: Question, why: str) -> Scored:
    """Return the outcome of a caption that cannot be scored."""
    return Scored(question.id, None, answered=False, detail={"why": why})


def outcome(question: Question, judged: Judged | None) -> Scored:
    """Score a caption our way: no score if the judgement is unusable, 0 without a caption.

    Elements without a label count as lacking. Matches are reduced to the longest subset in temporal order; an event
    without a match has all its elements lacking.
    """
    events = caption_events(question)
    if judged is None:
        parts = scoring.scores(events, [])
        return Scored(question.id, parts.get("f1"), answered=False, parts=parts, detail={"why": "there is no caption"})
    if judged.record is None:
        return unscored(question, judged.why)
    relationship = judged.record.get("relationship")
    if not isinstance(relationship, list) or len(relationship) != len(events):
        return unscored(question, "the judgement is not of the annotated events")
    labels, unread = scoring.labels_of(relationship, events)
    if unread and unread == sum(map(len, labels)):
        return unscored(question, "no label of the judgement can be read")
    mended = dict(judged.mended)
    if unread:
        mended["elements without a label that can be read: lacking"] = unread
    matches = _matches(judged.record, len(events), mended)
    parts = {}
    if matches:
        ordered = scoring.in_order(matches)
        back = sum(pair != row for pair, row in zip(ordered, matches, strict=True))
        if back:
            mended["matches against the order of time, taken back"] = back
        matched = {reference for _, reference in ordered}
        labels = [row if index in matched else [LACK] * len(row) for index, row in enumerate(labels, 1)]
        parts[HALLUCINATION] = sum(reference is None for _, reference in ordered) / len(ordered)
    parts |= scoring.scores(events, labels)
    if "f1" not in parts:
        return unscored(question, "no annotated element has a weight")
    shown = {name: judged.record[name] for name in _SHOWN if name in judged.record}
    detail = shown | ({"mended": mended} if mended else {})
    return Scored(question.id, parts["f1"], parts=parts, detail=detail)


def released_outcome(question: Question, judged: Judged) -> Scored:
    """Score as the released scorer: no score without a judgement, or with a wrong number of events."""
    relationship = None if judged.record is None else judged.record.get("relationship")
    parts = scoring.released_scores(question.reference["events"], relationship)
    if parts is None:
        return unscored(question, judged.why or "the judgement is not of the annotated events")
    detail = {"relationship": relationship, "place": judged.position}
    return Scored(question.id, parts.get("f1"), parts=parts, detail=detail)


def _matches(record: Mapping[str, Any], references: int, mended: dict[str, int]) -> list[scoring.Pair]:
    """Return one pair for each candidate event of a file; invalid reference numbers mean no match.

    Empty where the file has no matches or none that can be read: labels then stand as they are.
    """
    candidates, pairs = record.get("candidate_events"), record.get("match_ids")
    if not isinstance(candidates, list) or not isinstance(pairs, list):
        return []
    read = [tuple(map(_number, pair)) for pair in pairs if isinstance(pair, list) and len(pair) == 2]
    readable = [(candidate, reference) for candidate, reference in read if candidate is not None]
    if len(readable) < len(pairs):
        mended["matches that cannot be read"] = len(pairs) - len(readable)
    by_number: dict[int, int | None] = {}
    for candidate, reference in readable:
        inside = reference is not None and 1 <= reference <= references
        by_number.setdefault(candidate, reference if inside else None)
    return [(number, by_number.get(number)) for number in range(1, len(candidates) + 1)] if readable else []


def _number(value: object) -> int | None:
    """Return the integer of 3, 3.0 or "3"; None for anything else."""
    text = text_of(value).removesuffix(".0")
    return int(text) if text.isdecimal() and len(text) < 10 else None


_CAP: Final = files.DATA["cap"]
_CHARACTERISTICS: Final[Sequence[str]] = files.DATA["characteristics"]


class TunaCap(Benchmark):
    """The benchmark; see :class:`vmmetrics.understanding.harness.benchmark.Benchmark`."""

    name = "tuna-cap"
    data = _CAP | files.DATA
    needs_judge = True

    def load(self, data: Path, videos: Path | None = None) -> LoadedBenchmark:
        """Load the table of videos, the annotations, or both, and join them.

        Raises:
            SetupError: There is neither, or one cannot be read.
        """
        folder = data if data.is_dir() else data.parent
        table = files.find_files(data, _CAP["files"])[:1] if data.suffix not in (".json", ".jsonl") else []
        named = [data] if data.is_file() and not table else files.find_files(folder, _CAP["annotations"])
        problems: Counter[str] = Counter()
        rows = _rows(table[0], problems) if table else []
        path, annotations = _annotations(named)
        if not table and not annotations:
            looked_for = ", ".join([*_CAP["files"], *_CAP["annotations"]])
            raise SetupError(f"{data}: no videos or annotated events of TUNA-CAP found; looked for {looked_for}")
        pairs = list(zip(rows, files.annotations_of(rows, annotations, problems), strict=True))
        pairs = pairs or [({}, annotation) for annotation in annotations]
        paths = files.videos_in(videos or folder)
        questions: dict[str, Question] = {}
        for index, (row, annotation) in enumerate(pairs):
            question = _question(index, row, annotation or {}, paths, problems)
            problems["captions with a repeated key, left out"] += question.id in questions
            questions.setdefault(question.id, question)
        source = {str(file): sha256_of(file) for file in [*table, *([path] if path else [])]}
        return LoadedBenchmark(tuple(questions.values()), dict(+problems), source)

    def read_answers(self, path: Path, protocol: Scoring = "vmmetrics") -> dict[str, Answered]:
        """Read captions from a submission, an intermediate file, or a table of predictions.

        Raises:
            SetupError: The file is unreadable or has none of these forms.
        """
        return files.read_answers(path)

    def score(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], protocol: Scoring, judge: Any = None
    ) -> list[Scored]:
        """Have every caption judged, and score the judgements.

        Args:
            questions: The videos.
            answers: Captions.
            protocol: Protocol of the scores.
            judge: An endpoint's client; the path of a file in the released intermediate form; or any
                object with ``judged`` as :class:`~vmmetrics.understanding.benchmarks.tuna.judging.EventJudge` has it.

        Raises:
            SetupError: There is no judge, or its file cannot be read.
            VMMetricsError: As :meth:`vmmetrics.utils.endpoint.client.Client.ask_all`.
        """
        released = protocol == "upstream"
        if isinstance(judge, Client):
            judge = judging.EventJudge(judge)
        elif isinstance(judge, str | Path):
            judge = judging.RecordedJudge(Path(judge), questions, as_it_is=released)
        elif not hasattr(judge, "judged"):
            raise SetupError("Captions of TUNA need a judge: an endpoint, or a file with recorded judgements")
        # as released a recorded judgement counts whatever was said
        captions = _captions(questions, answers, empty=released and isinstance(judge, judging.RecordedJudge))
        judged = {caption.question.id: judgement for caption, judgement in judge.judged(captions)}
        outcomes = []
        for question in questions:
            judgement = judged.get(question.id)
            if not caption_events(question):
                outcomes.append(unscored(question, "there is no annotation"))
            elif released:
                outcomes.append(released_outcome(question, judgement or Judged(None, "there is no caption")))
            else:
                outcomes.append(outcome(question, judgement))
        return outcomes

    def judge_estimate(
        self, questions: Sequence[Question], answers: Mapping[str, Answered], judge: Client
    ) -> CostEstimate:
        """Estimate the cost of judging the captions."""
        return judging.EventJudge(judge).estimate(_captions(questions, answers))

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return precision, recall and F1 over all, by element type and characteristic; F1 by domain and in each."""
        if protocol == "upstream":
            return _released_figures(questions, scored)
        return _figures(questions, scored)


def _rows(path: Path, problems: Counter[str]) -> list[Row]:
    """Return the rows of the table, each with its number.

    Raises:
        SetupError: It cannot be read, or has no video.
    """
    values = enumerate(read_rows(path, problems))
    read: list[Row] = [{"index": index} | value for index, value in values if isinstance(value, dict)]
    rows = [row for row in read if files.video_of(row)]
    if len(rows) < len(read):
        problems["rows without a video, left out"] += len(read) - len(rows)
    if not rows:
        raise nothing_found(path, "video of TUNA-CAP", problems)
    return rows


def _annotations(paths: Sequence[Path]) -> tuple[Path | None, list[Row]]:
    """Return the first file with annotated events and its content; other files of the folder are ignored."""
    for path in paths:
        try:
            rows = [row for row in read_rows(path) if isinstance(row, Mapping) and isinstance(row.get("events"), list)]
        except SetupError:
            if len(paths) == 1:
                raise
            continue
        if rows:
            return path, rows
    return None, []


def _question(position: int, row: Row, annotation: Row, paths: Mapping[str, Path], problems: Counter[str]) -> Question:
    both = {**row, **{name: value for name, value in annotation.items() if value not in (None, "")}}
    video = files.video_of(row) or files.video_of(annotation) or text_of(annotation.get("index"))
    problems["captions whose video is missing"] += video not in paths
    annotated = both.get("events") if isinstance(both.get("events"), list) else []
    problems["captions without annotated events: not scored"] += not events_of(annotated, problems)
    characteristics = files.characteristics_of(both.get("visual_characteristic"), problems)
    domain = text_of(both.get("domain"))
    also = [text_of(row.get("index")), video, files.number_of(row, position)] if row else [video]
    return Question(
        text_of(both.get("index")) or str(position),
        video,
        text_of(row.get("question")) or _CAP["asked"].strip(),
        groups={"characteristic": characteristics, "domain": (domain,) if domain else ()},
        path=paths.get(video),
        reference={"events": annotated, "also": also},
    )


def _captions(
    questions: Sequence[Question], answers: Mapping[str, Answered], empty: bool = False
) -> list[judging.Caption]:
    """Return the captions of videos with annotated events; empty ones only if requested."""
    entries = EntriesByQuestion(answers, questions)
    texts = {question.id: answer_text(entries.of(question)).strip() for question in questions}
    return [
        judging.Caption(question, texts[question.id], events)
        for question in questions
        if (events := caption_events(question)) and (empty or scoring.sentences(texts[question.id]))
    ]


def _figures(questions: Sequence[Question], scored: Sequence[Scored]) -> list[Figure]:
    note = _without_judgement(scored)
    rows = [figure(questions, scored, name, part(name), note=note) for name in MEASURES]
    judged = [one if one.answered else replace(one, parts={}) for one in scored]
    rows += [figure(questions, judged, f"answered_{name}", part(name)) for name in MEASURES]
    rows.append(figure(questions, scored, HALLUCINATION, part(HALLUCINATION), note="of captions that were judged"))
    for kind in TYPES:
        rows += [figure(questions, scored, name, part(f"{kind} {name}"), "element type", kind) for name in MEASURES]
    groups = subsets(questions, scored, "characteristic")
    within = {name: groups.get(name, ([], [])) for name in _CHARACTERISTICS}
    for name, subset in within.items():
        rows += [figure(*subset, measure, part(measure), *_named(name, "")) for measure in MEASURES]
    for name, subset in subsets(questions, scored, "domain").items():
        rows.append(figure(*subset, "f1", part("f1"), "domain", name))
    for name, kind in product(_CHARACTERISTICS, TYPES):
        rows.append(figure(*within[name], "f1", part(f"{kind} f1"), *_named(name, kind)))
    return [one for one in rows if one.n or one.group == ALL]


def _without_judgement(scored: Sequence[Scored]) -> str:
    """Summarise the captions without a judgement: counts of the most frequent reasons."""
    why = Counter((one.value is None, str(one.detail["why"])) for one in scored if not one.answered)
    common = why.most_common(5)
    parts = [f"{count} {'left out' if out else 'with 0'}: {reason}" for (out, reason), count in common]
    others = why.total() - sum(count for _, count in common)
    return "; ".join([*parts, f"{others} for other reasons, in scores.jsonl"] if others else parts)


def _released_figures(questions: Sequence[Question], scored: Sequence[Scored]) -> list[Figure]:
    """Return the released scorer's summary: means over the videos with a figure, to three decimals.

    It adds up in the order of its file, which decides how a mean between two decimals is rounded.
    """
    groups = {ALL: range(len(questions))} | grouped(questions, "characteristic")
    note = _without_judgement(scored)
    figures = []
    for name, kind, measure in product((ALL, *_CHARACTERISTICS), ("", *TYPES), MEASURES):
        key = f"{kind} {measure}" if kind else measure
        got = [scored[index] for index in groups.get(name, ()) if key in scored[index].parts]
        values = [one.parts[key] for one in sorted(got, key=lambda one: one.detail["place"])]
        # one after the other, as the released scorer: sum() compensates rounding from Python 3.12 on
        mean = round(reduce(add, values) / len(values), 3) if values else None
        remark = note if (name, kind) == (ALL, "") else ""
        figures.append(Figure(*_named(name, kind), measure, mean, n=len(values), clusters=len(values), note=remark))
    return figures


def _named(characteristic: str, kind: str) -> tuple[str, str]:
    """Return the group of a figure, and its name in it."""
    if characteristic == ALL:
        return ("element type", kind) if kind else (ALL, ALL)
    named = f"{characteristic}{files.SEPARATOR}{kind}"
    return ("characteristic and element type", named) if kind else ("characteristic", characteristic)


BENCHMARK: Final = TunaCap()
