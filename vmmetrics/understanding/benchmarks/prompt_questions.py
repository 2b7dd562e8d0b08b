"""Questions about the prompts of a list, asked of clips generated from them: it is the clips that are judged.

A model answers the questions of its prompt about each clip; a clip succeeds if all answers are right. Both protocols
are one: there is no released scorer.
"""

# ruff: noqa: ARG002 - of an interface

from __future__ import annotations

import hashlib
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.models.questions import Answered, LoadedBenchmark, Question, answer_text
from vmmetrics.understanding.benchmarks import data_file
from vmmetrics.understanding.harness.benchmark import Figure, Scored, Scoring
from vmmetrics.understanding.harness.choices import MultipleChoice, chosen_option
from vmmetrics.understanding.harness.statistics import ALL, figure, pair_figures, subsets
from vmmetrics.utils.endpoint.asking import without_thought
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.weights.manifest import shipped_list
from vmmetrics.video.content import fingerprint
from vmmetrics.video.discover import Source, discover, no_clips
from vmmetrics.video.prompt_lists import ListEntry
from vmmetrics.video.prompt_questions import CONTRAST, KINDS, RIGHT, PromptQuestion, questions_of_list
from vmmetrics.video.prompts import Prompts

_DATA: Final = data_file("prompt_questions")
OPTIONS = ("Yes", "No")
SUCCESS = "success"
"""Measure of clips: all questions answered right."""
_STATED = ("list", "sidecar", "dataset")
"""Sources of a clip's prompt that are not its name."""
_DIGITS = 12  # of a hash, in the key of a question
MOST_VALUES = 100
"""Values of a tag in a list from which on it has no figures; such a tag, for instance a note, identifies prompts."""
_SAID: Final = re.compile(
    r"(?:^|\banswer\b(?:\s{1,9}is)?)[\s*_:\"'(]{0,9}(?:(?P<letter>[AB])[\s*_).:]{1,9})?(?P<word>yes|no)\b"
    r"(?=[\s*_\"')]{0,9}(?:$|[.,;:!\n\u2013\u2014-]|(?:because|since|as|the|it|this|there|he|she|they|i|we|you)\b))",
    re.IGNORECASE,
)
"""``Yes.``, ``No, because``, ``**Yes**``, ``B. No``, ``The answer is no``; ``No dog is seen`` is none."""
_DENIED: Final = re.compile(
    r"(\b(?:not|never|cannot|neither|nor|if|whether|unless)\b|n['\u2019]t\b)"
    r"(?:(?!\b(?:so|thus|hence|therefore|but)\b)[^.,;:!?\n])*",
    re.IGNORECASE,
)
"""Rest of a clause that is denied or doubted: ``not yes``, ``whether the answer is B``; no answer is read from it."""


def yes_or_no(output: str) -> int | None:
    """Return the index in :data:`OPTIONS` that an answer chooses, by letter or by word; None for none or both.

    >>> [yes_or_no(text) for text in ("A", "No, because yes-men run.", "Yes. No doubt.", "A. No", "Not yes", "Not B")]
    [0, 1, 0, None, None, None]
    """
    text = _DENIED.sub(r"\1", without_thought(output).strip())
    claims = list(_SAID.finditer(text))
    said = {("yes", "no").index(claim["word"].lower()) for claim in claims}
    said |= {"AB".index(claim["letter"].upper()) for claim in claims if claim["letter"]}
    if said:
        return said.pop() if len(said) == 1 else None
    return chosen_option(text, ("",) * len(OPTIONS))  # by letter alone: "yes" or "no" in a sentence may say anything


class PromptQuestions(MultipleChoice):
    """The benchmark; see :class:`vmmetrics.understanding.harness.choices.MultipleChoice`.

    A question's ``video`` is its prompt, since clips of one prompt are not independent; the clip is in its reference.

    Args:
        prompts: The list that the questions are about: name of a shipped list, or a file.
    """

    name = "prompt-questions"
    title = "questions about prompts"
    data = _DATA
    form = "{instruction}\n\n{text}\n{options}\n\n{asked}"
    cluster = "prompt"
    unanswered = "left out"

    def __init__(self, prompts: str | Path = "library") -> None:
        self._prompts = prompts

    def load(self, data: Path, videos: Path | None = None) -> LoadedBenchmark:
        """Load the questions about each clip of a folder.

        Raises:
            SetupError: As :meth:`load_clips`; or no folder is named, or it has no clips.
        """
        folder = videos or (data if data.is_dir() else data.parent)
        sources = discover([folder])
        if not sources:
            raise SetupError(no_clips([folder]))
        return self.load_clips(self.find(data), sources)

    def load_clips(self, path: Path, sources: Sequence[Source]) -> LoadedBenchmark:
        """Load the questions about some clips.

        A clip's prompt is the one that it states itself (a text or list beside it, or ``prompt`` of its source), or
        the one with the index in its name, as VMBench names clips.

        Args:
            path: File of the questions.
            sources: The clips.

        Raises:
            SetupError: The file or list is invalid (:func:`~vmmetrics.video.prompt_questions.questions_of_list`), or no
                clip has a question.
        """
        list_file = shipped_list(self._prompts)
        _, listed, asked = questions_of_list(self._prompts, path)
        by_text = {entry.prompt: number for number, entry in enumerate(listed.entries)}
        beside, problems = Prompts(), Counter[str]()
        values: dict[str, set[str]] = {}
        for entry in listed.entries:
            for name, tag in entry.tags.items():
                if isinstance(tag, str):
                    values.setdefault(name, set()).add(tag)
        grouping = {name for name, ones in values.items() if len(ones) < MOST_VALUES}
        questions: list[Question] = []
        for source in sources:
            stated = source.prompt or _stated(beside, source)
            number = listed.find(source.name) if stated is None else by_text.get(stated)
            if number is None:
                what = "without an index of the list" if stated is None else "that state a prompt outside the list"
                problems[f"clips {what}, left out"] += 1
            elif number not in asked:
                problems["clips whose prompt has no questions, left out"] += 1
            else:
                entry = listed.entries[number]
                tags = {name: tag for name, tag in entry.tags.items() if isinstance(tag, str)}
                groups = {name: (tag,) for name, tag in tags.items() if name in grouping}
                groups |= {} if source.model is None else {"model": (source.model,)}
                questions += _about(source, entry, asked[number], groups)
        if not questions:
            why = ", ".join(f"{times:,} {problem}" for problem, times in problems.items())
            raise SetupError(
                f"{path}: no question about any of the clips ({why}); name clips by the index of their prompt "
                f"(0001.mp4), or name their list: --prompts (now {list_file.name})"
            )
        missing = len({question.reference["clip"] for question in questions if question.path is None})
        problems["clips that are missing"] += missing
        problems[f"tags of {MOST_VALUES} values or more, not in the figures"] += len(values) - len(grouping)
        hashes = {str(file): sha256_of(file) for file in (path, list_file)}
        wording = (Question("", "", one.question, OPTIONS) for of_prompt in asked.values() for one in of_prompt)
        return LoadedBenchmark(tuple(questions), dict(+problems), hashes, tuple(wording))

    def score_one(self, question: Question, answered: Answered | None, protocol: Scoring) -> Scored:
        """Score an answer; one that is missing or cannot be read has no value."""
        chosen = yes_or_no(answer_text(answered))
        value = None if chosen is None else float(chosen == question.answer)
        return Scored(question.id, value, chosen, chosen is not None)

    def figures(self, questions: Sequence[Question], scored: Sequence[Scored], protocol: Scoring) -> list[Figure]:
        """Return accuracy over all and by kind; minimal pairs; success of clips over all, by model, pattern and tag."""
        figures = [_figure(questions, scored, "accuracy")]
        by_kind = subsets(questions, scored, "kind")
        figures += [_figure(*by_kind[kind], "accuracy", "kind", kind) for kind in KINDS if kind in by_kind]
        figures += pair_figures(questions, scored)
        clips, successes = clips_of(questions, scored)
        figures.append(_figure(clips, successes, SUCCESS))
        names = dict.fromkeys(name for clip in clips for name in clip.groups)
        for grouping in sorted(names, key=lambda name: (name != "model", name != "pattern")):
            for name, subset in subsets(clips, successes, grouping).items():
                figures.append(_figure(*subset, SUCCESS, grouping, name))
        return figures


def clips_of(questions: Sequence[Question], scored: Iterable[Scored]) -> tuple[list[Question], list[Scored]]:
    """Return the clips that questions are about, each as one question of success, and their success.

    A clip's value is 1 if all its questions are answered right, 0 if one is answered wrong, and None if one has no
    answer or no score; ``parts`` has the share answered right by kind, ``reference["kinds"]`` the kinds of questions.
    """
    scores = {score.question: score for score in scored}
    members: dict[str, list[tuple[Question, Scored]]] = {}
    for question in questions:
        score = scores.get(question.id) or Scored(question.id, None, answered=False)
        members.setdefault(question.reference["clip"], []).append((question, score))
    clips, successes = [], []
    for clip, pairs in members.items():
        values = [score.value for _, score in pairs]
        known = [value for value in values if value is not None]
        success = math.prod(known) if len(known) == len(values) else None
        kinds = {kind: [s.value for q, s in pairs if kind in q.groups["kind"]] for kind in KINDS}
        parts = {kind: share for kind, ones in kinds.items() if (share := _share(ones)) is not None}
        groups = {name: values for name, values in pairs[0][0].groups.items() if name != "kind"}
        asked = replace(pairs[0][0], id=clip, text="", options=("fails", "succeeds"), answer=1, groups=groups)
        of_clip = {"questions": len(pairs), "kinds": [kind for kind in KINDS if kinds[kind]]}
        clips.append(replace(asked, reference={**asked.reference, **of_clip}))
        successes.append(Scored(clip, success, None if success is None else int(success), success is not None, parts))
    return clips, successes


def clip_rows(clips: Sequence[Question], successes: Sequence[Scored]) -> list[list[Any]]:
    """Return the table of :func:`clips_of`, its head first: clip, model, index of the prompt, success, shares right."""
    paired = any(CONTRAST in clip.reference["kinds"] for clip in clips)
    kinds = KINDS if paired else KINDS[: KINDS.index(CONTRAST)]
    rows: list[list[Any]] = [["clip", "model", "prompt", SUCCESS, *(RIGHT + kind for kind in kinds)]]
    for clip, success in zip(clips, successes, strict=True):
        shares = [success.parts.get(kind) for kind in kinds]
        rows.append([clip.id, clip.reference["model"], clip.video, success.value, *shares])
    return rows


def _share(values: Sequence[float | None]) -> float | None:
    """Return the mean of values; None where there are none, or one is not known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _figure(
    questions: Sequence[Question], scored: Sequence[Scored], measure: str, group: str = ALL, name: str = ALL
) -> Figure:
    """Return a share with the chance of guessing each answer, and the share of its items that have one."""
    chances = [0.5 ** question.reference.get("questions", 1) for question in questions]
    chance = sum(chances) / len(chances) if chances else None
    made = figure(questions, scored, measure, group=group, name=name, chance=chance, cluster=PromptQuestions.cluster)
    answered = sum(score.answered for score in scored) / len(scored) if scored else None
    return replace(made, answered=answered, note=made.note if made.n else "no answer that can be read")


def _stated(beside: Prompts, source: Source) -> str | None:
    """Return the prompt in a text or list beside a clip; None where there is none that can be read."""
    with suppress(ClipError):
        match = beside.lookup(source)
        return match.prompt if match.source in _STATED else None
    return None


def _about(
    source: Source, entry: ListEntry, asked: Iterable[PromptQuestion], groups: Mapping[str, tuple[str, ...]]
) -> Iterable[Question]:
    """Yield the questions about a clip; keys change with the clip's content, its prompt and the question's text."""
    path: Path | None = source.path
    try:
        content = fingerprint(source.path)
    except OSError:
        path, content = None, ""
    key = os.path.abspath(source.path)  # noqa: PTH100 - as runs write it, links not followed
    reference: dict[str, Any] = {"clip": source.name, "model": source.model, "key": key, "sha256": content}
    for question in asked:
        right = OPTIONS.index(question.answer.capitalize())
        text = hashlib.sha256(question.question.encode()).hexdigest()[:_DIGITS]
        yield Question(
            f"{source.name} {content[:_DIGITS] or 'missing'} {entry.clip} {text}", entry.clip, question.question,
            OPTIONS, right, {**groups, "kind": (question.kind,)}, path,
            reference=reference | {"pair": entry.twin} | ({"measure": question.measure} if question.measure else {}),
        )  # fmt: skip


BENCHMARK: Final = PromptQuestions()
