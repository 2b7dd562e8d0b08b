"""FAVOR-Bench's recipe: questions of six tasks from structured annotations.

After Tu et al., "FAVOR-Bench", 2025: three questions a task, five options. The whole sequence of a subject is asked
about by us, its options re-orderings; the rest is written by a language model, a task at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from vmmetrics.models.questions import Question
from vmmetrics.understanding.benchmarks.favor.scores import read_structure
from vmmetrics.understanding.construction.gates import noted
from vmmetrics.understanding.construction.guessing import stems
from vmmetrics.understanding.construction.options import reorderings
from vmmetrics.understanding.construction.question_checks import DYNAMICS
from vmmetrics.understanding.construction.recipe import (
    COMMON_RULES,
    LEFT_OUT,
    UNREACHABLE,
    Stop,
    Task,
    WritingRecipe,
    answered,
    questions_shape,
)
from vmmetrics.utils.endpoint.client import AskedQuestion as Asked
from vmmetrics.utils.tables import seconds

# Structured annotations of motion, in a form of ours or as FAVOR-Bench releases them.
#
# Ours, one JSON object a line (or a list of them)::
#
#     {"video": "v1", "path": "v1.mp4", "seconds": 12.0, "caption": "A man in a red coat ...",
#      "camera": [{"motion": "pans left", "focus": "the dog", "start": 0, "end": 4}],
#      "subjects": [{"name": "man", "attributes": ["red coat", "short hair"],
#                    "actions": [{"action": "sits down", "start": 0, "end": 2}]}],
#      "others": [{"name": "cars", "motion": "drive past"}]}
#
# Everything but ``video`` and ``subjects`` may be left out; a camera motion and an action may be plain text. The
# released form: one object by video name, with the strings ``caption``, ``camera_motion``, ``subject_attributes``,
# ``motion_list``, ``chronological_motion_list``, which have no seconds.

MOST_SUBJECTS: Final = 3
"""Most moving subjects; FAVOR's annotators skipped clips with four."""
LEAST_MOVING: Final = 0.5
"""Least share of a clip's time with motion; FAVOR's annotators skipped others."""
_SHOWN_ATTRIBUTES: Final = 2
_ARTICLE: Final = re.compile(r"(?i)^(?:the|an?)\s+")


@dataclass(frozen=True, slots=True)
class AnnotatedStep:
    """An annotated action or camera motion, with its time.

    Attributes:
        text: What.
        start: Start, seconds; None if not annotated.
        end: Until when.
        focus: Focus of the camera during the step; empty if not annotated.
    """

    text: str
    start: float | None = None
    end: float | None = None
    focus: str = ""


@dataclass(frozen=True, slots=True)
class AnnotatedSubject:
    """A moving subject of the annotation.

    Attributes:
        name: In a word or two, without article.
        attributes: How they look.
        actions: Their actions, in temporal order.
    """

    name: str
    attributes: tuple[str, ...]
    actions: tuple[AnnotatedStep, ...]

    @property
    def seen(self) -> str:
        """Short description of the subject.

        >>> AnnotatedSubject("man", ("red coat", "short hair", "beard"), ()).seen
        'the man (red coat, short hair)'
        """
        shown = ", ".join(self.attributes[:_SHOWN_ATTRIBUTES])
        return f"the {self.name} ({shown})" if shown else f"the {self.name}"


@dataclass(frozen=True, slots=True)
class Annotation:
    """Annotation of a video.

    Attributes:
        subjects: Moving subjects.
        camera: Its motions, in order.
        others: Other motion: "cars drive past".
        seconds: Length of the video; None if not annotated.
    """

    subjects: tuple[AnnotatedSubject, ...]
    camera: tuple[AnnotatedStep, ...] = ()
    others: tuple[str, ...] = ()
    seconds: float | None = None

    @property
    def has_focus(self) -> bool:
        """True if the camera's focus is annotated."""
        return any(step.focus for step in self.camera)

    def unfit(self) -> str | None:
        """Reason to make no questions of the video; None if it is usable."""
        moving = [subject for subject in self.subjects if subject.actions]
        if not moving:
            return "nobody moves in the annotation"
        if len(moving) > MOST_SUBJECTS:
            return f"{len(moving)} subjects move, more than {MOST_SUBJECTS}"
        if len({stems(subject.seen) for subject in moving}) < len(moving):
            return "two subjects cannot be told apart by what is annotated of them"
        steps = [(step.start, step.end) for subject in moving for step in subject.actions]
        spans = sorted((start, end) for start, end in steps if start is not None and end is not None)
        if not self.seconds or len(spans) < len(steps):  # nobody knows how much of the time it is
            return None
        covered = reached = 0.0
        for start, end in spans:
            covered += max(0.0, end - max(start, reached))
            reached = max(reached, end)
        share = covered / self.seconds
        return f"motion in {share:.0%} of the time, less than {LEAST_MOVING:.0%}" if share < LEAST_MOVING else None


def annotation_of(fields: Mapping[str, Any]) -> Annotation:
    """Read the annotation in the fields of a clip, in either form; missing or unreadable parts are left out."""
    if isinstance(fields.get("subjects"), list):
        named = (_subject(row) for row in fields["subjects"] if isinstance(row, Mapping))
        others = (
            f"{row.get('name') or ''} {row.get('motion') or ''}" if isinstance(row, Mapping) else str(row)
            for row in _listed(fields.get("others"))
        )
        return Annotation(
            tuple(subject for subject in named if subject.name),
            tuple(step for row in _listed(fields.get("camera")) if (step := _step(row, "motion")).text),
            tuple(filter(None, map(_line, others))),
            seconds(fields.get("seconds")),
        )
    structure = read_structure(fields)  # as released; a subject without a name cannot be asked about
    looks = read_structure({"motion_list": fields.get("subject_attributes")}).subjects
    subjects = []
    for number, subject in structure.subjects.items():
        done = [action for action, who in structure.chronology if who == number] or subject.actions
        attributes = looks[number].actions if number in looks else ()
        if subject.description != f"Subject {number}":
            subjects.append(AnnotatedSubject(_named(subject.description), attributes, tuple(map(AnnotatedStep, done))))
    return Annotation(tuple(subjects), tuple(map(AnnotatedStep, structure.camera)))


def _line(value: Any) -> str:
    return " ".join(str(value or "").split())


def _named(text: str) -> str:
    return _ARTICLE.sub("", _line(text)).lower()


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _subject(row: Mapping[str, Any]) -> AnnotatedSubject:
    steps = [_step(action, "action") for action in _listed(row.get("actions"))]
    timed = all(step.start is not None for step in steps)
    ordered = sorted(steps, key=lambda step: step.start or 0.0) if timed else steps
    attributes = tuple(filter(None, map(_line, _listed(row.get("attributes")))))
    return AnnotatedSubject(_named(_line(row.get("name"))), attributes, tuple(step for step in ordered if step.text))


def _step(row: Any, name: str) -> AnnotatedStep:
    if not isinstance(row, Mapping):
        return AnnotatedStep(_line(row))
    times = seconds(row.get("start")), seconds(row.get("end"))
    return AnnotatedStep(_line(row.get(name)), *times, _line(row.get("focus")))


_FAVOR: Final = (
    """\
You write multiple-choice questions about fine-grained motion in a video. You are given what people annotated: how the \
subjects look, what each does and in which seconds, how the camera moves, and a text about all of it. Whoever answers \
sees the video and nothing else.

Write up to {count} questions of one task. Fewer, or none, where the annotation does not carry more.
Task: {task}
- Ask about what is typical of the video. The questions differ in what they are about.
- Wrong answers may be things that are not in the annotation at all.
- A question must not be answerable from its own words, or from any single frame.
- Do not ask why anything happens.
"""
    + COMMON_RULES
)
_TASKS: Final[Mapping[str, str]] = {
    "AS": "action sequence. Ask for the order of things in time: what a subject does right after or before something "
    "else, or how several actions follow one another. Do not ask for the whole sequence of a subject.",
    "HAC": "holistic action. Ask what a subject mainly does over most of the video. The question must not be about a "
    "part of the video: no first, then, finally, beginning, end.",
    "SAD": "single action detail. Ask how one subject or object does one thing at one moment: direction, body part, "
    "manner, object used.",
    "MAD": "multiple action details. Ask for a comparison of details between different moments: what changes from one "
    "to the other, what is the same. If somebody handles several things one after another, one question is about them.",
    "CM": "camera motion. Ask how the camera moves, its direction and what follows what. {focus}",
    "NSM": "motion that is not a subject's. Ask how things or people in the background move. If nothing in the "
    "background moves, write none.",
}
_FOCUS_RULES: Final = {
    True: "You may also ask what the camera focuses on or follows.",
    False: "Do not ask what the camera focuses on or follows: nobody annotated it.",
}
COUNT: Final = 3
"""Questions per task and video."""
WRONG: Final = 4
_OVERLAP: Final = 0.5
"""Most seconds that two ordered actions may overlap: annotated times are no finer."""
_QUESTION_TOKENS: Final = 140  # of a question as JSON
_PARTIAL: Final = re.compile(
    r"(?i)\b(?:at the (?:very )?(?:beginning|start|end)(?! of the (?!video\b|clip\b))|first(?![- ]person)|finally"
    r"|initially|lastly|before|after|then|next(?! to\b)|while|until|in the (?:middle|rest) of the (?:video|clip)"
    r"|(?:second|last|other) (?:half|part)|last moments?)\b"
)
"""Phrases about a part of the video; "next to", "end of the table" and "first-person" are none."""
_FOCUS: Final = re.compile(r"(?i)\b(?:focus(?:es|ed|ing)?|follow(?:s|ed|ing)?|track(?:s|ed|ing)?|cent(?:er|re)s? on)\b")


class FavorRecipe(WritingRecipe):
    """FAVOR-Bench's recipe: clips with annotations; filter models see the middle frame."""

    name = "favor"
    rules = DYNAMICS

    def tasks(self, clip: Question) -> list[Task]:
        """Return the writer's tasks, as if every question were written; none on a clip that is left out."""
        annotation = annotation_of(clip.reference)
        tasks = [] if annotation.unfit() else _tasks(annotation)
        return [Task(self.client, self._asked(clip, *task, COUNT), COUNT * _QUESTION_TOKENS, COUNT) for task in tasks]

    def write(self, clip: Question) -> tuple[list[Question], str]:
        """Return a sequence question of ours, and written ones for each task that the annotation supports.

        A task that is refused, or answered by nothing of use, costs its own questions and no others.
        """
        annotation = annotation_of(clip.reference)
        if unfit := annotation.unfit():
            raise Stop(LEFT_OUT, unfit)
        written = self._sequence(clip, annotation)
        missing: list[str] = []
        tasks = _tasks(annotation)
        for task, note in tasks:  # the sequence comes first, if at all
            count = COUNT - len(written) if task == "AS" else COUNT
            answer = self.client.ask(self._asked(clip, task, note, count))
            if answer.value is None and answer.kind != UNREACHABLE and len(missing) < len(tasks) - 1:
                missing.append(f"{task}: {answer.why}")
                continue
            for number, item in enumerate(answered(answer)["questions"], start=1):
                question = self.of_item(clip, f"{task}-{number}", item, task=task)
                written.append(noted(question, "focus", True) if task == "CM" and annotation.has_focus else question)
        return written, "; ".join(missing)

    def faults_of(self, question: Question, earlier: Sequence[Question]) -> list[str]:
        """Return the faults of a question, those by the rules of FAVOR's tasks last."""
        why = super().faults_of(question, earlier)
        task = question.groups["task"][0]
        partial = _PARTIAL.search(question.text)
        if task == "HAC" and partial:
            why.append(f"part: it is about a part of the video: {partial[0]!r}")
        texts = " ".join((question.text, *question.options))
        if task == "CM" and "focus" not in question.reference and _FOCUS.search(texts):
            why.append("focus: nobody annotated what the camera focuses on")
        return why

    def _sequence(self, clip: Question, annotation: Annotation) -> list[Question]:
        """Return a question on the sequence of the first subject with three or more consecutive actions, or none."""
        for subject in annotation.subjects:
            if any(
                before.end is not None and after.start is not None and after.start < before.end - _OVERLAP
                for before, after in pairwise(subject.actions)  # without seconds the list's order is taken
            ):
                continue
            steps = [step.text[:1].lower() + step.text[1:] for step in subject.actions]  # lists have capitals
            options = reorderings(steps, WRONG, self.seed, clip.id, subject.seen)
            if options is not None:
                text = f"In which order does {subject.seen} do these things?"
                how = {"recipe": self.name, "method": "re-orderings", "seed": self.seed}
                return [noted(self.made(clip, "AS-0", text, options, task="AS"), "made", how)]
        return []

    def _asked(self, clip: Question, task: str, note: str, count: int) -> Asked[str]:
        instruction = _FAVOR.format(count=count, task=note, wrong=WRONG)
        shown = _shown(clip.text, annotation_of(clip.reference))
        return self.asked(f"{clip.id} {task}", instruction, shown, questions_shape(0, count, WRONG))


def _tasks(annotation: Annotation) -> list[tuple[str, str]]:
    """Return the tasks that a video supports, each with its instruction."""
    actions = sum(len(subject.actions) for subject in annotation.subjects)
    left_out = set()
    if actions < 2:  # nothing to order or to compare
        left_out |= {"AS", "MAD"}
    if len({stems(step.text) for step in annotation.camera if not step.text.lower().startswith("first-person")}) < 2:
        left_out.add("CM")
    focus = _FOCUS_RULES[annotation.has_focus]
    return [(task, template.format(focus=focus)) for task, template in _TASKS.items() if task not in left_out]


def _shown(caption: str, annotation: Annotation) -> str:
    """Return the annotation as text for the writer; subjects by appearance, without numbers."""
    who = [
        {
            "who": s.name,
            "looks": s.attributes,
            "actions, in order": [_step_fields(step, "action") for step in s.actions],
        }
        for s in annotation.subjects
    ]
    more = {
        "camera, in order": [_step_fields(step, "motion") for step in annotation.camera],
        "other things that move": annotation.others,
        "text": caption,
    }
    description = {"subjects": who} | {name: value for name, value in more.items() if value}
    return json.dumps(description, ensure_ascii=False, indent=1)


def _step_fields(step: AnnotatedStep, name: str) -> Mapping[str, Any] | str:
    timed = {key: value for key, value in (("from", step.start), ("to", step.end)) if value is not None}
    more = timed | ({"focus": step.focus} if step.focus else {})
    return {name: step.text, **more} if more else step.text
