"""TUNA's recipe: what a video model misreads becomes hard questions; what one frame tells goes.

After Kong et al., "TUNA", ACL 2025. Its appendix keeps what is answered right from one frame and from many, which is
the opposite of needing many; here a question that one frame answers goes (``drop_single``), and, if wanted, one that
even ``multi`` frames do not answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vmmetrics.models.frames import FramePolicy
from vmmetrics.models.questions import Question
from vmmetrics.understanding.construction.instructions import CONTRADICTIONS, MOTIONBENCH, TUNA
from vmmetrics.understanding.construction.options import with_items
from vmmetrics.understanding.construction.question_checks import DYNAMICS, WRITTEN
from vmmetrics.understanding.construction.recipe import (
    WritingRecipe,
    Written,
    answered,
    item_shape,
    one_of,
    options_of,
    questions_shape,
    text_of,
)
from vmmetrics.understanding.construction.units import RejectedQuestion, SourceClip, noted
from vmmetrics.understanding.construction.viewing import FilterModel, seen
from vmmetrics.utils.endpoint import AskedQuestion as Asked
from vmmetrics.utils.endpoint import Client, CostEstimate, Turn, in_words, list_shape, object_shape
from vmmetrics.utils.endpoint.messages import estimate

# MotionBench's recipe: captions of dynamics become questions; what image models tell from the first frame goes.
#
# After Hong et al., "MotionBench", CVPR 2025: about six questions a caption, each a pair of content and logic.

MOTIONBENCH_COUNT: Final = 6
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
_MOTIONBENCH_TOKENS: Final = 130
"""Of a question as JSON: about 500 characters, four to a token."""
_MOTIONBENCH_SHAPE: Final = questions_shape(
    item_shape(WRONG, content=one_of(CONTENT), logic=one_of(LOGIC), task=one_of(TASKS)),
    MOTIONBENCH_COUNT - 2,
    MOTIONBENCH_COUNT + 2,
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
    filters_are = "first_frame"
    shown = (FIRST_FRAME, "first frame", "the first frame")

    def estimates(self, units: Sequence[str]) -> list[tuple[str, CostEstimate]]:
        """The writer exactly but for its answers; the viewers as if every question passed the rules."""
        writing = self.client.estimate(
            (self._asked(self.clips[unit]) for unit in units), MOTIONBENCH_COUNT * _MOTIONBENCH_TOKENS
        )
        return [(self.client.settings.model, writing), *self.viewers_estimates(MOTIONBENCH_COUNT * len(units))]

    def write(self, clip: SourceClip) -> Written:
        """The writer's questions; one with the pair of content and logic of one before it is rejected."""
        items = answered(clip.key, self.client.ask(self._asked(clip)))["questions"]
        written, rejected = [], []
        used: set[tuple[str, str]] = set()
        for number, item in enumerate(items, start=1):
            groups = {name: item[name] for name in ("task", "content", "logic")}
            question = self.origin(clip.question(str(number), text_of(item), options_of(item), **groups))
            pair = (item["content"], item["logic"])
            if pair in used:
                rejected.append(
                    RejectedQuestion(question, "checks", (f"pair: {' and '.join(pair)} were asked about before",))
                )
            else:
                written.append(question)
            used.add(pair)
        return Written(written, rejected)

    def _asked(self, clip: SourceClip) -> Asked[str]:
        def too_static(value: dict[str, Any]) -> str | None:
            moving = sum("appearance" not in (item["content"], item["logic"]) for item in value["questions"])
            if moving < DYNAMIC:
                return f"only {moving} questions are about something other than appearance; at least {DYNAMIC} must be"
            return None

        told = MOTIONBENCH.format(count=MOTIONBENCH_COUNT, dynamic=DYNAMIC, wrong=WRONG)
        return self.asked(clip.key, told, clip.caption, _MOTIONBENCH_SHAPE, too_static)


TUNA_COUNT: Final = 5
FRAMES: Final = 8
"""Uniform frames that the video model sees: the paper's."""
SKILLS: Final = {
    "Camera Motion": "Camera State",
    "Camera Transition": "Camera State",
    "Scene Description": "Background Scene",
    "Scene Transition": "Background Scene",
    "Action Recognition": "Subject Action",
    "Action Sequence": "Subject Action",
    "Action-Subject Matching": "Subject Action",
    "Object Recognition": "Object Attribute",
    "Object Appearance": "Object Attribute",
    "Object Location": "Object Attribute",
}
"""Task to skill."""
_TUNA_TOKENS: Final = 140  # of a question as JSON
_POINT_TOKENS: Final = 300  # of a usual list of contradictions
_MOST_POINTS: Final = 30
_TUNA_SHAPE: Final = questions_shape(item_shape(WRONG, task=one_of(SKILLS)), TUNA_COUNT, TUNA_COUNT)
_TEXT: Final = {"type": "string", "minLength": 1, "maxLength": 600}
_POINT: Final = object_shape({"content_frame": _TEXT, "content_description": _TEXT})
_POINTS: Final = object_shape({"points": list_shape(_POINT, most=_MOST_POINTS)})


@dataclass(frozen=True, slots=True)
class Indispensability:
    """Which questions need time.

    Attributes:
        drop_single: A question goes if all filter models are right from the frame in the middle.
        multi: A question also goes if none of them is right from so many uniform frames; None asks no such thing.

    Raises:
        ValueError: The number is below two.
    """

    drop_single: bool = True
    multi: int | None = None

    def __post_init__(self) -> None:
        if self.multi is not None and self.multi < 2:
            raise ValueError(f"Expected two frames at least but got {self.multi}")


NEEDS: Final = Indispensability()


class TunaRecipe(WritingRecipe):
    """The recipe.

    Args:
        clips: With captions and videos.
        client: Asks the writer.
        watcher: Asks the video model that looks for what contradicts the caption.
        viewers: Models that filter; none filters nothing.
        needs: Which questions need time.
        seed: Of the writing and of every draw.
        temperature: Of the writing.
    """

    name = "tuna"
    rules = WRITTEN

    def __init__(
        self,
        clips: Iterable[SourceClip],
        client: Client,
        watcher: Client,
        viewers: Sequence[FilterModel] = (),
        needs: Indispensability = NEEDS,
        seed: int = 0,
        temperature: float = 0.7,
    ) -> None:
        super().__init__(clips, client, viewers, seed, temperature)
        self._watcher = watcher
        self._needs = needs

    def configuration(self) -> dict[str, Any]:
        """What outcomes depend on."""
        watcher = {"url": self._watcher.settings.url, "model": self._watcher.settings.model}
        needs = {"drop_single": self._needs.drop_single, "multi": self._needs.multi}
        return super().configuration() | {"watcher": watcher, "needs": needs}

    def needs_video(self) -> bool:
        """For what is misread."""
        return True

    def estimates(self, units: Sequence[str]) -> list[tuple[str, CostEstimate]]:
        """Roughly: what is written depends on what was misread."""
        blank = [self._watching(self.clips[unit], (b"",) * FRAMES).turns for unit in units]
        found = [(self._watcher.settings.model, estimate(self._watcher.settings, blank, _POINT_TOKENS))]
        usual = [{"content_frame": "x" * 100, "content_description": "x" * 100}] * 4
        writing = [self._writing(self.clips[unit], usual).turns for unit in units]
        settings = self.client.settings
        found.append((settings.model, estimate(settings, writing, TUNA_COUNT * _TUNA_TOKENS)))
        frames = [1] * self._needs.drop_single + ([] if self._needs.multi is None else [self._needs.multi])
        return found + self.viewers_estimates(TUNA_COUNT * len(units), frames)

    def write(self, clip: SourceClip) -> Written:
        """The video model's contradictions, and the writer's questions about them."""
        pictures = seen(clip.question("", "?", ("right", "wrong")), FramePolicy("uniform", FRAMES)).jpegs()
        points = answered(clip.key, self._watcher.ask(self._watching(clip, pictures)))["points"]
        items = answered(clip.key, self.client.ask(self._writing(clip, points)))["questions"]
        written = []
        for number, item in enumerate(items, start=1):
            groups = {"task": item["task"], "skill": SKILLS[item["task"]]}
            question = clip.question(str(number), text_of(item), options_of(item), **groups)
            made = self.origin(question, watcher=self._watcher.settings.model)
            written.append(noted(with_items(made, self.seed), "error_prone_points", points))
        return Written(written, [])

    def filtered(self, question: Question) -> tuple[Question, RejectedQuestion | None]:
        """Rejected if one frame is enough; if wanted, if many are not."""
        rejection = None
        if self._needs.drop_single:
            question, rejection = super().filtered(question)
        if rejection is None and self.viewers and self._needs.multi is not None:
            many = FramePolicy("uniform", self._needs.multi)
            question, views = self.viewed(question, many, "many frames")
            if not any(view.right for view in views):
                why = f"nobody is right from {self._needs.multi} frames"
                return question, RejectedQuestion(question, "many frames", (why,))
        return question, rejection

    def _watching(self, clip: SourceClip, pictures: tuple[bytes, ...]) -> Asked[str]:
        told = f"{CONTRADICTIONS.format(frames=len(pictures))}\n{in_words(_POINTS)}"
        return Asked(clip.key, (Turn("system", told), Turn("user", clip.caption, pictures)), _POINTS, seed=self.seed)

    def _writing(self, clip: SourceClip, points: Sequence[Any]) -> Asked[str]:
        told = TUNA.format(count=TUNA_COUNT, wrong=WRONG, tasks=", ".join(SKILLS))
        misread = json.dumps(list(points), ensure_ascii=False) if points else "none were found"
        return self.asked(clip.key, told, f"The text: {clip.caption}\n\nMisread: {misread}", _TUNA_SHAPE)
