"""A model behind an OpenAI-compatible endpoint, shown JPEG pictures or, where it takes one, a video."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from vmmetrics.models import protocol
from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import Form, ModelAnswer, R, S
from vmmetrics.models.questions import Question
from vmmetrics.utils.endpoint import messages
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import CostEstimate, Reply, TooLongError, Turn, Video
from vmmetrics.video.encoding import TICKS, write_h264

LEAST_TOKENS = 512
"""Smallest answer limit, tokens, tried when a request does not fit the model's context."""
_CODING = {"crf": "16", "preset": "fast", "bf": "0"}  # of x264; at 16 the eye hardly finds a difference


class EndpointModel:
    """Model behind an endpoint; it answers in free text, which the benchmark interprets.

    Args:
        settings: Model and request options.
        folder: Where replies are kept.
        form: "video" sends one video, or where there is one frame a picture; anything else pictures.
        max_cost: Most that may be spent.
        threads: Questions at once.
        times: True to state the clip's length, rate and frame times before the images.

    Attributes:
        client: Client of the endpoint; its ledger has the cost.

    Raises:
        SetupError: There is a bound on the cost but no prices.
    """

    sees = True

    def __init__(
        self,
        settings: messages.EndpointSettings,
        folder: Path,
        form: Form = "auto",
        max_cost: float | None = None,
        threads: int = 4,
        times: bool = True,
    ) -> None:
        self.client = Client(settings, folder, max_cost)
        self._video = form == "video"
        self._threads = threads
        self._times = times

        self.name = settings.model
        timing = protocol.TIMES_AS_TEXT if times else protocol.NO_TIMES
        shown = {"form": "video", "times": "in the video"} if self._video else {"form": "images", "times": timing}
        self.identity: Mapping[str, Any] = {**settings.part(), **shown}

    def answer(self, question: Question, turns: Sequence[Turn], frames: Frames) -> ModelAnswer:
        """Ask the endpoint, or return the cached reply; see :class:`~vmmetrics.models.protocol.Model`.

        A reply that ended for its length before its answer is asked for once more, with more tokens.
        """
        times_text = None
        if not len(frames.pictures):
            asked = tuple(turns)
        elif self._video and len(frames.pictures) > 1:
            asked = protocol.before_last(turns, video=encoded(frames))
        else:
            times_text = frames.words() if self._times else None
            asked = protocol.before_last(turns, pictures=frames.jpegs(), before=times_text or "")
        (reply, fewer), again = self._fitting(asked), False
        if protocol.unfinished(reply, question):
            with suppress(TooLongError):  # the model takes no more than it had
                longer = self.client.say(asked, limit=protocol.MORE * self.client.settings.tokens)
                reply, again = protocol.together(reply, longer), True
        tokens = (reply.input_tokens, reply.output_tokens)
        cost = None if None in tokens else self.client.settings.cost(tokens[0] or 0, tokens[1] or 0)
        return protocol.model_answer(reply, cost, times_text, again, fewer)

    def _fitting(self, asked: Sequence[Turn]) -> tuple[Reply, int | None]:
        """Return the reply within the token limit, or within a lower one for a short context, and that limit."""
        fewer = None
        while True:
            try:
                return self.client.say(asked, limit=fewer), fewer
            except TooLongError:
                limit = fewer or self.client.settings.tokens
                if limit <= LEAST_TOKENS:
                    raise
                fewer = max(LEAST_TOKENS, limit // protocol.MORE)

    def work_through(self, work: Callable[[S], R], items: Iterable[S]) -> Generator[tuple[S, R]]:
        """Ask from several threads."""
        return self.client.work_through(work, items, self._threads)

    def estimate(self, conversations: Sequence[Sequence[Turn]], pictures: float, expected: int) -> CostEstimate:
        """Return the estimated cost of some questions; cached replies are not subtracted, equal texts count once.

        Args:
            conversations: The questions, without frames.
            pictures: Frames shown of each, on average.
            expected: Tokens of a usual answer.
        """
        conversations = conversations if pictures else list(dict.fromkeys(conversations))
        shown = round(messages.PICTURE_TOKENS * pictures * len(conversations))
        return messages.estimate(self.client.settings, conversations, expected, shown)


def encoded(frames: Frames) -> Video:
    """Encode two frames or more as H.264, each at its stated time, the last one for the mean duration."""
    file = io.BytesIO()
    ticks = [round((time - frames.times[0]) * TICKS) for time in frames.times]
    each = max(1, round(ticks[-1] / (len(ticks) - 1)))
    # readers take the rate of a file from its length: packets say how long they last
    write_h264(file, frames.pictures, Fraction(TICKS, each), _CODING, threads=1, times=ticks, duration=each)
    return Video(file.getvalue(), len(frames.pictures))
