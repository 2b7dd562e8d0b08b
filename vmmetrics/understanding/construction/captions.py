"""MotionBench's and TUNA's recipes: questions from captions, and from a video model's misreadings of them.

TUNA's after Kong et al., "TUNA", ACL 2025. Its appendix keeps questions answered right from one frame and from many,
the opposite of needing many; here a question that one frame answers is rejected (``drop_single``) and, optionally, one
that even ``multi`` frames do not answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from vmmetrics.models.frames import FramePolicy
from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction.gates import noted, seen
from vmmetrics.understanding.construction.options import with_items
from vmmetrics.understanding.construction.question_checks import DYNAMICS, WRITTEN
from vmmetrics.understanding.construction.recipe import COMMON_RULES, Task, WritingRecipe, answered, questions_shape
from vmmetrics.utils.endpoint.asking import in_words, list_shape, object_shape
from vmmetrics.utils.endpoint.client import AskedQuestion as Asked
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import Turn

# MotionBench's recipe: captions of dynamics become questions; what image models tell from the first frame goes.
#
# After Hong et al., "MotionBench", CVPR 2025: about six questions a caption, each a pair of content and logic.

MOTIONBENCH_COUNT: Final = 6
"""Questions requested per caption, the paper's "about six"; two more or fewer are accepted."""
DYNAMIC: Final = 4
"""Least number of them about more than appearance."""
WRONG: Final = 3
TASKS: Final = ("MR", "LM", "CM", "MO", "AO", "RC")
CONTENT: Final = (
    "human action", "human interaction", "human emotion", "human position", "object trajectory", "object state",
    "animal action", "animal position", "camera", "appearance",
)  # fmt: skip
LOGIC: Final = ("occurrence", "count", "order", "appearance")
_MOTIONBENCH: Final = (
    """\
You write multiple-choice questions that find out whether a model sees what moves in a video, and how. You are given a \
text that a careful person wrote about the video. Whoever answers sees the video and not the text.

Write {count} questions. Each joins one thing it is about (content) with one thing it asks (logic):
- content: human action, human interaction, human emotion, human position, object trajectory, object state, animal \
action, animal position, camera, appearance (of people, objects or surroundings)
- logic: occurrence (does it happen, which of them happens), count, order, appearance (how it looks)
Use no pair twice. At least {dynamic} questions are about something other than appearance.
- Ask about what changes or moves and about nothing else, and only about what stands out: no \
trifles, nothing in a corner.
- Ask for an order only where there is no doubt what came first; never of things that overlap in time.
- Do not ask why anything happens, what it is for or what it leads to.
"""
    + COMMON_RULES
    + """\
Give each question its task: MR (which motion, recognised), LM (where something moves or is when it moves), CM (camera \
motion), MO (which object or person takes part in a motion), AO (order of actions), RC (how often something is \
repeated).
"""
)
_MOTIONBENCH_TOKENS: Final = 130
"""Expected tokens of a question as JSON: about 500 characters, four to a token."""
_MOTIONBENCH_SHAPE: Final = questions_shape(
    MOTIONBENCH_COUNT - 2, MOTIONBENCH_COUNT + 2, WRONG, content=CONTENT, logic=LOGIC, task=TASKS
)


class MotionBenchRecipe(WritingRecipe):
    """MotionBench's recipe: clips with captions; filter models are image models that see the first frame."""

    name = "motionbench"
    rules = DYNAMICS

    def tasks(self, clip: Question) -> list[Task]:
        """Return the writer's task."""

        def too_static(value: dict[str, Any]) -> str | None:
            moving = sum("appearance" not in (item["content"], item["logic"]) for item in value["questions"])
            if moving < DYNAMIC:
                return f"only {moving} questions are about something other than appearance; at least {DYNAMIC} must be"
            return None

        instruction = _MOTIONBENCH.format(count=MOTIONBENCH_COUNT, dynamic=DYNAMIC, wrong=WRONG)
        asked = self.asked(clip.id, instruction, clip.text, _MOTIONBENCH_SHAPE, too_static)
        return [Task(self.client, asked, MOTIONBENCH_COUNT * _MOTIONBENCH_TOKENS, MOTIONBENCH_COUNT)]

    def write(self, clip: Question) -> tuple[list[Question], str]:
        """Return the writer's questions."""
        (task,) = self.tasks(clip)
        items = enumerate(answered(self.client.ask(task.asked))["questions"], start=1)
        groups = ("task", "content", "logic")
        return [self.of_item(clip, str(n), item, **{name: item[name] for name in groups}) for n, item in items], ""

    def faults_of(self, question: Question, earlier: Sequence[Question]) -> list[str]:
        """Return the faults of a question; only this one if its pair of content and logic is asked about again."""
        pair, *before = ((one.groups["content"], one.groups["logic"]) for one in (question, *earlier))
        if pair in before:
            return [f"pair: {pair[0][0]} and {pair[1][0]} were asked about before"]
        return super().faults_of(question, earlier)


TUNA_COUNT: Final = 5
FRAMES: Final = 8
"""Uniform frames that the video model sees, as in the paper."""
_TASKS: Final = {
    "Camera State": ("Camera Motion", "Camera Transition"),
    "Background Scene": ("Scene Description", "Scene Transition"),
    "Subject Action": ("Action Recognition", "Action Sequence", "Action-Subject Matching"),
    "Object Attribute": ("Object Recognition", "Object Appearance", "Object Location"),
}
SKILLS: Final = {task: skill for skill, tasks in _TASKS.items() for task in tasks}
"""Skill of each task."""
_CONTRADICTIONS: Final = """\
The pictures are {frames} frames of one video, evenly spaced and in order. Below them is a text about the video that a \
careful person wrote; it is right. Look at the frames by yourself, and list where what you see differs from the text: \
for each, what the text says and what you see instead. These are the places where the video is easily misread. Leave \
out what the text merely does not mention. An empty list is fine.
"""
_TUNA: Final = (
    """\
You write hard multiple-choice questions about what happens in a video over time. You are given a text that a careful \
person wrote about the video, and places where another model misread it: what it saw differs from the text, and the \
text is right. Whoever answers sees the video and nothing else.

Write {count} questions, spread over the events of the video, most of them about the places that were misread (what \
the other model saw is a good wrong answer).
- Each needs several moments of the video: neither one frame nor one event alone settles it.
- The text must be enough to answer it.
- For an order of three or more things the answers are the things joined by " \u2192 ", the same things in every answer.
"""
    + COMMON_RULES
    + """\
Give each question one of these tasks: {tasks}.
"""
)
_TUNA_TOKENS: Final = 140  # of a question as JSON
_POINT_TOKENS: Final = 300  # of a usual list of contradictions
_MOST_POINTS: Final = 30
_TUNA_SHAPE: Final = questions_shape(TUNA_COUNT, TUNA_COUNT, WRONG, task=SKILLS)
_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": 600}
_POINT: Final = object_shape({"content_frame": _TEXT, "content_description": _TEXT})
_POINTS: Final = object_shape({"points": list_shape(_POINT, most=_MOST_POINTS)})


@dataclass
class TunaRecipe(WritingRecipe):
    """TUNA's recipe: clips with captions, and a video model that misreads them.

    Args:
        watcher: Asks the video model that looks for what contradicts the caption.
    """

    name = "tuna"
    rules = WRITTEN
    needs_video = True  # for what is misread

    watcher: Client

    def tasks(self, clip: Question) -> list[Task]:
        """Return usual tasks: writing depends on the contradictions."""
        usual = [{"content_frame": "x" * 100, "content_description": "x" * 100}] * 4
        return [
            Task(self.watcher, self._watching(clip, (b"",) * FRAMES), _POINT_TOKENS, 0),
            Task(self.client, self._writing(clip, usual), TUNA_COUNT * _TUNA_TOKENS, TUNA_COUNT),
        ]

    def write(self, clip: Question) -> tuple[list[Question], str]:
        """Find the video model's contradictions, and return the writer's questions on them."""
        pictures = seen(clip, FramePolicy("uniform", FRAMES)).jpegs()
        points = answered(self.watcher.ask(self._watching(clip, pictures)))["points"]
        written = []
        items = answered(self.client.ask(self._writing(clip, points)))["questions"]
        for number, item in enumerate(items, start=1):
            question = self.of_item(clip, str(number), item, task=item["task"], skill=SKILLS[item["task"]])
            question = noted(question, "made", question.reference["made"] | {"watcher": self.watcher.settings.model})
            written.append(noted(with_items(question, self.seed), "error_prone_points", points))
        return written, ""

    def _watching(self, clip: Question, pictures: tuple[bytes, ...]) -> Asked[str]:
        instruction = f"{_CONTRADICTIONS.format(frames=len(pictures))}\n{in_words(_POINTS)}"
        turns = (Turn("system", instruction), Turn("user", clip.text, pictures))
        return Asked(clip.id, turns, _POINTS, seed=self.seed)

    def _writing(self, clip: Question, points: Sequence[Any]) -> Asked[str]:
        instruction = _TUNA.format(count=TUNA_COUNT, wrong=WRONG, tasks=", ".join(SKILLS))
        misread = json.dumps(list(points), ensure_ascii=False) if points else "none were found"
        return self.asked(clip.id, instruction, f"The text: {clip.text}\n\nMisread: {misread}", _TUNA_SHAPE)
