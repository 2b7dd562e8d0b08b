"""A judge and the answers it gave before: asks, asks again where an answer cannot be used, and keeps the replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import cv2
import numpy as np

from vmmetrics.alignment.baselines.judge.questions import (
    AGAIN,
    REFUSED,
    SYSTEM,
    VERSION,
    Answer,
    question,
    read_answer,
    schema,
)
from vmmetrics.clip import Clip
from vmmetrics.utils.endpoint import EndpointSettings, Reply, ReplyCache, Turn, converse, default_folder, key_of

# What the judge sees: frames evenly spread over time, as JPEG.


@dataclass(frozen=True, slots=True)
class Shown:
    """The frames a judge is shown.

    Attributes:
        times: Seconds of each.
        pictures: JPEG of each.
    """

    times: tuple[float, ...]
    pictures: tuple[bytes, ...]


def show(clip: Clip, count: int, side: int) -> Shown:
    """Take frames of a clip.

    Args:
        clip: The clip.
        count: How many, at equal distances in time from the first to the last; fewer where the clip has fewer.
        side: Longer side in pixels; larger frames are made smaller.
    """
    wanted = np.linspace(0, clip.timestamps[-1], count)
    places = np.unique(np.abs(clip.timestamps[:, None] - wanted).argmin(axis=0))
    factor = min(1.0, side / max(clip.width, clip.height))
    size = max(1, round(clip.width * factor)), max(1, round(clip.height * factor))
    pictures = []
    for place in places:
        small = cv2.resize(clip.frames[place], size, interpolation=cv2.INTER_AREA)
        written, data = cv2.imencode(".jpg", cv2.cvtColor(small, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 92])
        assert written  # noqa: S101  (an uint8 picture can always be written)
        pictures.append(data.tobytes())
    return Shown(tuple(float(clip.timestamps[place]) for place in places), tuple(pictures))


KEY_VARIABLE = "VMMETRICS_JUDGE_KEY"
"""Environment variable with the key of the endpoint: it is read there and written nowhere."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Which judge, and what it is shown.

    Attributes:
        model: Name of the model at the endpoint, or a folder with one for transformers.
        url: Base address of an OpenAI-compatible endpoint (``http://localhost:8000/v1``); None runs the folder.
        frames: Frames shown of a clip.
        side: Their longer side in pixels.
        tokens: Most tokens of an answer; models that think before they answer need more.
        per_minute: Most requests a minute and process; None leaves it to the endpoint.
        key_variable: Environment variable that holds the key; the key itself is never part of anything kept.
        cache: Folder of the replies; None takes ``judge`` beside the folder of weights.
    """

    model: str
    url: str | None = None
    frames: int = 12
    side: int = 512
    tokens: int = 1024
    per_minute: float | None = None
    key_variable: str = KEY_VARIABLE
    cache: str | None = None

    def __post_init__(self) -> None:
        if min(self.frames, self.side, self.tokens) < 1 or (self.per_minute is not None and self.per_minute <= 0):
            raise ValueError(f"Expected positive numbers but got {self}")
        if self.url is not None:
            self.at_endpoint()

    def at_endpoint(self) -> EndpointSettings:
        """The endpoint; greedy, so that answers can be had again.

        Raises:
            ValueError: There is none, or its address cannot be.
        """
        if self.url is None:
            raise ValueError("Expected an address but got None")
        return EndpointSettings(
            self.url, self.model, tokens=self.tokens, per_minute=self.per_minute, key_variable=self.key_variable
        )

    def part(self) -> dict[str, Any]:
        """What an answer depends on, ready for JSON."""
        asked = {"questions": VERSION, "frames": self.frames, "side": self.side, "tokens": self.tokens}
        return {"model": self.model, "url": self.url, **asked}


class Judge(Protocol):
    """Answers a conversation."""

    identity: Mapping[str, Any]
    """What else its replies depend on, ready for JSON."""

    def reply(self, turns: Sequence[Turn]) -> Reply:
        """Answer what was said so far.

        Raises:
            ClipError: No answer could be had; another time it might.
        """
        ...


@dataclass
class Panel:
    """Asks a judge about clips.

    Attributes:
        judge: Who answers.
        settings: What it is shown, and where its replies are kept.
    """

    judge: Judge
    settings: JudgeSettings
    _cache: ReplyCache = field(init=False)

    def __post_init__(self) -> None:
        kept = self.settings.cache
        self._cache = ReplyCache(default_folder("judge") if kept is None else Path(kept))

    def rate(self, clip: Clip) -> Answer:
        """Have a clip rated, asking again a few times while the answer cannot be used.

        Raises:
            ClipError: The judge cannot be reached.
        """
        shown = show(clip, self.settings.frames, self.settings.side)
        turns = [Turn("system", SYSTEM), Turn("user", question(shown.times, clip.prompt), shown.pictures)]
        return _read(converse(self._reply, turns, _fault, AGAIN))

    def _reply(self, turns: Sequence[Turn]) -> Reply:
        """The reply to a conversation, the one that was kept if there is one."""
        key = self.key(turns)
        reply = self._cache.get(key)
        if reply is None:
            reply = self.judge.reply(turns)
            self._cache.put(key, reply)
        return reply

    def key(self, turns: Sequence[Turn]) -> str:
        """Hash of everything that a reply depends on."""
        return key_of(self.settings.part(), dict(self.judge.identity), schema(), turns=turns)


def _fault(reply: Reply) -> str | None:
    """What is wrong with a reply; nothing where the judge refused, which is not argued with."""
    answer = _read(reply)
    return None if answer is REFUSED else answer.missing


def _read(reply: Reply) -> Answer:
    if reply.refused:
        return REFUSED
    answer = read_answer(reply.text)
    if answer.missing is not None and reply.cut:
        return Answer({}, "the judge's answer was unusable: cut off for its length")
    return answer
