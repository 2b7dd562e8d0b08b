"""FAVOR-Bench's recipe: questions of six tasks from structured annotations.

After Tu et al., "FAVOR-Bench", 2025: three questions a task, five options. The whole sequence of a subject is asked
about by us, its options re-orderings; the rest is written by a language model, a task at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from vmmetrics.models.frames import FramePolicy
from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction.favor_annotations import Annotation, Step, Subject, annotation_of
from vmmetrics.understanding.construction.instructions import FAVOR, FAVOR_TASKS, FOCUS
from vmmetrics.understanding.construction.ordering import reorderings
from vmmetrics.understanding.construction.outcomes import LEFT_OUT, UNREACHABLE, Outcome, Rejection, noted
from vmmetrics.understanding.construction.question_checks import DYNAMICS
from vmmetrics.understanding.construction.recipe import (
    Stop,
    WritingRecipe,
    Written,
    answered,
    item_shape,
    list_shape,
    options_of,
    text_of,
)
from vmmetrics.understanding.construction.sources import Clip
from vmmetrics.utils.endpoint import Estimate
from vmmetrics.utils.endpoint import Question as Asked

COUNT: Final = 3
"""Questions a task and video."""
WRONG: Final = 4
SINGLE: Final = FramePolicy("single")
_OVERLAP: Final = 0.5
"""Seconds that two actions may overlap and still have an order: annotators' seconds are no finer."""
_QUESTION_TOKENS: Final = 140  # of a question as JSON
_SHAPE: Final = item_shape(WRONG)
_PARTIAL: Final = re.compile(
    r"\b(?:at the (?:very )?(?:beginning|start|end)(?! of the (?!video\b|clip\b))|first(?![- ]person)|finally|initially"
    r"|lastly|before|after|then|next(?! to\b)|while|until|in the (?:middle|rest) of the (?:video|clip)"
    r"|(?:second|last|other) (?:half|part)|last moments?)\b",
    re.IGNORECASE,
)
"""Next to somebody, the end of the table and a first person's view are no parts of a video."""
_FOCUS: Final = re.compile(
    r"\b(?:focus(?:es|ed|ing)?|follow(?:s|ed|ing)?|track(?:s|ed|ing)?|cent(?:er|re)s? on)\b", re.IGNORECASE
)


class FavorRecipe(WritingRecipe):
    """The recipe.

    Args:
        clips: With annotations.
        client: Asks the writer.
        viewers: Models that see the frame in the middle; what all of them get right from it goes. None filters nothing.
        seed: Of the writing and of every draw.
        temperature: Of the writing.
    """

    name = "favor"
    rules = DYNAMICS

    def configuration(self) -> dict[str, Any]:
        """What outcomes depend on."""
        return super().configuration() | {"one_frame": self.viewers_part()}

    def estimates(self, units: Sequence[str]) -> list[tuple[str, Estimate]]:
        """The writer exactly but for its answers; the viewers as if every question passed the rules."""
        fit = [self.clips[unit] for unit in units if annotation_of(self.clips[unit]).unfit() is None]
        asked = [self._asked(clip, task, note, COUNT) for clip in fit for task, note in _tasks(annotation_of(clip))]
        writing = self.client.estimate(asked, COUNT * _QUESTION_TOKENS)
        return [(self.client.settings.model, writing), *self.viewers_estimates(COUNT * len(asked))]

    def write(self, clip: Clip) -> Written:
        """A sequence of ours, and what is written of each task that the annotation carries.

        A task that is refused, or answered by nothing of use, costs its own questions and no others.
        """
        annotation = annotation_of(clip)
        unfit = annotation.unfit()
        if unfit is not None:
            raise Stop(Outcome(clip.key, LEFT_OUT, unfit))
        written: list[Question] = []
        missing: list[str] = []
        tasks = _tasks(annotation)
        whole = self._sequence(clip, annotation)
        if whole is not None:
            written.append(whole)
        for task, note in tasks:
            count = COUNT - (task == "AS" and whole is not None)
            answer = self.client.ask(self._asked(clip, task, note, count))
            if answer.value is None and answer.kind != UNREACHABLE and len(missing) < len(tasks) - 1:
                missing.append(f"{task}: {answer.why}")
                continue
            for number, item in enumerate(answered(clip.key, answer)["questions"], start=1):
                question = clip.question(f"{task}-{number}", text_of(item), options_of(item), task=task)
                made = self.origin(question)
                written.append(noted(made, "focus", True) if task == "CM" and annotation.has_focus else made)
        return Written(written, [], "; ".join(missing))

    def more_faults(self, question: Question) -> list[str]:
        """What FAVOR's tasks forbid besides."""
        task = question.groups["task"][0]
        partial = _PARTIAL.search(question.text)
        if task == "HAC" and partial:
            return [f"part: it is about a part of the video: {partial[0]!r}"]
        texts = " ".join((question.text, *question.options))
        if task == "CM" and "focus" not in question.reference and _FOCUS.search(texts):
            return ["focus: nobody annotated what the camera focuses on"]
        return []

    def filtered(self, question: Question) -> tuple[Question, Rejection | None]:
        """Rejected if every model is right from one frame."""
        return self.without_time(question, SINGLE, "one frame", "one frame")

    def _sequence(self, clip: Clip, annotation: Annotation) -> Question | None:
        """The whole sequence of the first subject that has one: three actions or more, one after another."""
        for subject in annotation.subjects:
            if not _is_sequence(subject.actions):
                continue
            steps = [_lower(step.text) for step in subject.actions]
            options = reorderings(steps, WRONG, self.seed, clip.key, subject.seen)
            if options is not None:
                text = f"In which order does {subject.seen} do these things?"
                question = clip.question("AS-0", text, options, task="AS")
                return noted(question, "made", {"recipe": self.name, "method": "re-orderings", "seed": self.seed})
        return None

    def _asked(self, clip: Clip, task: str, note: str, count: int) -> Asked[str]:
        told = FAVOR.format(count=count, task=note, wrong=WRONG)
        shape = list_shape(_SHAPE, 0, count)
        return self.asked(f"{clip.key} {task}", told, _shown(clip, annotation_of(clip)), shape)


def _tasks(annotation: Annotation) -> list[tuple[str, str]]:
    """Tasks that a video can carry, each with what the writer is told of it."""
    actions = sum(len(subject.actions) for subject in annotation.subjects)
    left_out = set()
    if actions < 2:  # nothing to order or to compare
        left_out |= {"AS", "MAD"}
    if annotation.camera_motions < 2:
        left_out.add("CM")
    focus = FOCUS[annotation.has_focus]
    return [(task, told.format(focus=focus)) for task, told in FAVOR_TASKS.items() if task not in left_out]


def _is_sequence(steps: Sequence[Step]) -> bool:
    """Whether each action begins when the one before is over; without seconds the list's order is taken."""
    for before, after in pairwise(steps):
        if before.end is not None and after.start is not None and after.start < before.end - _OVERLAP:
            return False
    return True


def _lower(text: str) -> str:
    """Actions begin with a capital in released lists."""
    return text[:1].lower() + text[1:]


def _shown(clip: Clip, annotation: Annotation) -> str:
    """The annotation as the writer reads it; subjects by their looks, so that no number gets into a question."""
    told: dict[str, Any] = {"subjects": [_subject(subject) for subject in annotation.subjects]}
    if annotation.camera:
        told["camera, in order"] = [_step(step, "motion") for step in annotation.camera]
    if annotation.others:
        told["other things that move"] = list(annotation.others)
    if clip.caption:
        told["text"] = clip.caption
    return json.dumps(told, ensure_ascii=False, indent=1)


def _subject(subject: Subject) -> Mapping[str, Any]:
    actions = [_step(step, "action") for step in subject.actions]
    return {"who": subject.name, "looks": list(subject.attributes), "actions, in order": actions}


def _step(step: Step, name: str) -> Mapping[str, Any] | str:
    timed = {key: value for key, value in (("from", step.start), ("to", step.end)) if value is not None}
    more = timed | ({"focus": step.focus} if step.focus else {})
    return {name: step.text, **more} if more else step.text
