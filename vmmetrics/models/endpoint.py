"""A model behind an OpenAI-compatible endpoint, shown JPEG pictures or, where it takes one, a video."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from vmmetrics.models.frames import Frames
from vmmetrics.models.protocol import Form, R, S, Said, before_last, said
from vmmetrics.models.questions import Question
from vmmetrics.utils.endpoint.client import Client
from vmmetrics.utils.endpoint.messages import CostEstimate, EndpointSettings, Turn, Video, estimate, estimated_tokens

_TICKS = 90_000  # of a second, for the times of the frames of a video: the clock of MPEG
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
    import av

    def write(frame: av.VideoFrame | None = None) -> None:
        for packet in stream.encode(frame):
            packet.duration = each  # readers take the rate of a file from its length
            output.mux(packet)

    file = io.BytesIO()
    ticks = [round((told - frames.told[0]) * _TICKS) for told in frames.told]
    each = max(1, round(ticks[-1] / (len(ticks) - 1)))
    with av.open(file, "w", format="mp4") as output:
        stream = output.add_stream("libx264", rate=Fraction(_TICKS, each))
        height, width = (side - side % 2 for side in frames.pictures.shape[1:3])  # 4:2:0 wants even sides
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.options = _CODING
        stream.codec_context.thread_count = 1  # the same bytes on any number of cores
        stream.time_base = stream.codec_context.time_base = Fraction(1, _TICKS)
        for place, picture in zip(ticks, frames.pictures, strict=True):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture[:height, :width]), format="rgb24")
            frame.pts, frame.time_base = place, Fraction(1, _TICKS)
            write(frame)
        write()
    return Video(file.getvalue(), len(frames.pictures))
