"""MotionBench's recipe: captions of dynamics become questions; what image models tell from the first frame goes.

After Hong et al., "MotionBench", CVPR 2025: about six questions a caption, each a pair of content and logic; a question
goes if all image models are right from the first frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vmmetrics.models.frames import FramePolicy
from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction.instructions import MOTIONBENCH
from vmmetrics.understanding.construction.outcomes import Rejection
from vmmetrics.understanding.construction.question_checks import DYNAMICS
from vmmetrics.understanding.construction.recipe import (
    WritingRecipe,
    Written,
    answered,
    item_shape,
    list_shape,
    one_of,
    options_of,
    text_of,
)
from vmmetrics.understanding.construction.sources import Clip
from vmmetrics.utils.endpoint import Estimate
from vmmetrics.utils.endpoint import Question as Asked

COUNT: Final = 6
"""Questions wanted of a caption: the paper's "about six"; two fewer or more are taken."""
DYNAMIC: Final = 4
"""Of them about more than how something looks."""
WRONG: Final = 3
TASKS: Final = ("MR", "LM", "CM", "MO", "AO", "RC")
CONTENT: Final = (
    "human action", "human interaction", "human emotion", "human position", "object trajectory", "object state",
    "animal action", "animal position", "camera", "appearance",
)  # fmt: skip
LOGIC: Final = ("occurrence", "count", "order", "appearance")
FIRST_FRAME: Final = FramePolicy("first")
_QUESTION_TOKENS: Final = 130
"""Of a question as JSON: about 500 characters, four to a token."""
_SHAPE: Final = list_shape(
    item_shape(WRONG, content=one_of(CONTENT), logic=one_of(LOGIC), task=one_of(TASKS)), COUNT - 2, COUNT + 2
)


class MotionBenchRecipe(WritingRecipe):
    """The recipe.

    Args:
        clips: With captions.
        client: Asks the writer.
        viewers: Image models that see the first frame; none filters nothing.
        seed: Of the writing and of every draw.
        temperature: Of the writing.
    """

    name = "motionbench"
    rules = DYNAMICS

    def configuration(self) -> dict[str, Any]:
        """What outcomes depend on."""
        return super().configuration() | {"first_frame": self.viewers_part()}

    def estimates(self, units: Sequence[str]) -> list[tuple[str, Estimate]]:
        """The writer exactly but for its answers; the viewers as if every question passed the rules."""
        writing = self.client.estimate((self._asked(self.clips[unit]) for unit in units), COUNT * _QUESTION_TOKENS)
        return [(self.client.settings.model, writing), *self.viewers_estimates(COUNT * len(units))]

    def write(self, clip: Clip) -> Written:
        """The writer's questions; one with the pair of content and logic of one before it is rejected."""
        items = answered(clip.key, self.client.ask(self._asked(clip)))["questions"]
        written, rejected = [], []
        used: set[tuple[str, str]] = set()
        for number, item in enumerate(items, start=1):
            groups = {name: item[name] for name in ("task", "content", "logic")}
            question = self.origin(clip.question(str(number), text_of(item), options_of(item), **groups))
            pair = (item["content"], item["logic"])
            if pair in used:
                rejected.append(Rejection(question, "checks", (f"pair: {' and '.join(pair)} were asked about before",)))
            else:
                written.append(question)
            used.add(pair)
        return Written(written, rejected)

    def filtered(self, question: Question) -> tuple[Question, Rejection | None]:
        """Rejected if every image model is right from the first frame."""
        return self.without_time(question, FIRST_FRAME, "first frame", "the first frame")

    def _asked(self, clip: Clip) -> Asked[str]:
        told = MOTIONBENCH.format(count=COUNT, dynamic=DYNAMIC, wrong=WRONG)
        return self.asked(clip.key, told, clip.caption, _SHAPE, _too_static)


def _too_static(value: dict[str, Any]) -> str | None:
    moving = sum("appearance" not in (item["content"], item["logic"]) for item in value["questions"])
    if moving < DYNAMIC:
        return f"only {moving} questions are about something other than appearance; at least {DYNAMIC} must be"
    return None
