"""Answers of the embedded perception: to yes/no questions whose outcome a tracker decides, without a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vmmetrics.errors import ClipError
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import ModelAnswer, OneByOne
from vmmetrics.models.questions import Question
from vmmetrics.perception.movers import Movers, movers_of
from vmmetrics.perception.presets import embedded_models
from vmmetrics.perception.scene import Scene
from vmmetrics.utils.endpoint.messages import Turn
from vmmetrics.utils.storage.provenance import decisive_versions
from vmmetrics.video import read_clip
from vmmetrics.video.pixels import Sampling

SIDE = 768
"""Longer side of the decoded frames, pixels; optical flow needs less."""


class PerceptionModel(OneByOne):
    """Model that answers questions with a ``measure`` in their reference, and no other.

    Measures are those of :func:`vmmetrics.functional.outcomes.decider`. The answer is Yes where the decision is the
    measure's value ``"yes"``, No where it is another, and an error that begins with "no decision" where there is none.
    Every frame of a clip is decoded, once for consecutive questions about it, whatever the frame policy.
    """

    sees = False
    name = "perception"

    def __init__(self) -> None:
        self.identity: Mapping[str, Any] = {"perception": decisive_versions()}
        self._models = embedded_models(None)
        self._seen: tuple[Path | None, Movers] = (None, Movers((), 0.0, "the clip is missing"))

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:  # noqa: ARG002
        """Return "Yes" or "No", or the reason why there is no decision as the answer's error."""
        measure = question.reference.get("measure")
        if not isinstance(measure, Mapping):
            return _undecided("the question has no measure")
        try:
            outcome = self._movers(question.path).decide(measure)
        except (ClipError, ValueError) as error:
            return _undecided(str(error))
        if outcome.value is None:
            return _undecided(outcome.reason)
        return ModelAnswer("Yes" if outcome.value == measure["yes"] else "No")

    def _movers(self, path: Path | None) -> Movers:
        """Return a clip's movers."""
        if path is None:
            return Movers((), 0.0, "the clip is missing")
        if path != self._seen[0]:
            clip = read_clip(path, sampling=Sampling(None, SIDE))
            self._seen = path, movers_of(Scene(clip, self._models))
        return self._seen[1]


def _undecided(reason: str) -> ModelAnswer:
    return ModelAnswer("", f"no decision: {reason}")
