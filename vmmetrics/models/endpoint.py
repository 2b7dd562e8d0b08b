"""A model behind an OpenAI-compatible endpoint, shown JPEG pictures or, where it takes one, a video."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import Form, R, S, Said, before_last, said
from vmmetrics.models.questions import Question
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import CostEstimate, EndpointSettings, Turn, Video, estimate, estimated_tokens
from vmmetrics.video.encoding import TICKS, write_h264

_CODING = {"crf": "16", "preset": "fast", "bf": "0"}  # of x264; at 16 the eye hardly finds a difference


class EndpointModel:
    """Asks in free text: answers are read by the benchmark, as those of any model.

    Args:
        settings: Which model, and how it is asked.
        folder: Where replies are kept.
        form: "video" sends one video, or where there is one frame a picture; anything else pictures.
        max_cost: Most that may be spent.
        threads: Questions at once.

    Attributes:
        client: Who asks; its ledger says what it took.

    Raises:
        SetupError: There is a bound on the cost but no prices.
    """

    sees = True

    def __init__(
        self,
        settings: EndpointSettings,
        folder: Path,
        form: Form = "auto",
        max_cost: float | None = None,
        threads: int = 4,
    ) -> None:
        self.client = Client(settings, folder, max_cost)
        self._video = form == "video"
        self._threads = threads

        self.name = settings.model
        self.identity: Mapping[str, Any] = {**settings.part(), "form": "video" if self._video else "images"}

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> Said:  # noqa: ARG002
        """Ask, or take the reply that was kept; see :class:`~vmmetrics.models.protocol.Model`."""
        if not len(frames.pictures):
            asked = tuple(turns)
        elif self._video and len(frames.pictures) > 1:
            asked = before_last(turns, video=encoded(frames))
        else:
            asked = before_last(turns, pictures=frames.jpegs())
        reply = self.client.say(asked)
        tokens = (reply.input_tokens, reply.output_tokens)
        cost = None if None in tokens else self.client.settings.cost(tokens[0] or 0, tokens[1] or 0)
        return said(reply, cost)

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:
        """Several at once."""
        return self.client.work_through(work, items, self._threads)

    def estimate(self, conversations: Sequence[Sequence[Turn]], pictures: float, expected: int) -> CostEstimate:
        """What asking would take, replies that are kept not counted off.

        Args:
            conversations: What is to be asked, without frames.
            pictures: Frames shown of each, on average.
            expected: Tokens of a usual answer.
        """
        shown = estimated_tokens([Turn("user", "", video=Video(b"", 1))]) - estimated_tokens([Turn("user", "")])
        return estimate(self.client.settings, conversations, expected, round(shown * pictures * len(conversations)))


def encoded(frames: Frames) -> Video:
    """Two frames or more as an H.264 file, each at the time that the model is told, the last as long as the mean."""
    file = io.BytesIO()
    ticks = [round((told - frames.told[0]) * TICKS) for told in frames.told]
    each = max(1, round(ticks[-1] / (len(ticks) - 1)))
    # readers take the rate of a file from its length: packets say how long they last
    write_h264(file, frames.pictures, Fraction(TICKS, each), _CODING, threads=1, times=ticks, duration=each)
    return Video(file.getvalue(), len(frames.pictures))
