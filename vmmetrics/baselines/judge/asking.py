"""A judge and the answers it gave before: asks, asks again where an answer cannot be used, and keeps the replies."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from vmmetrics.baselines.judge.answers import REFUSED, Answer, read_answer
from vmmetrics.baselines.judge.frames import show
from vmmetrics.baselines.judge.questions import AGAIN, SYSTEM, VERSION, question, schema
from vmmetrics.checkpoints import weights_home
from vmmetrics.clip import Clip
from vmmetrics.errors import SetupError
from vmmetrics.run.directory import write_json

ASKED = 3
"""An answer that cannot be used is asked for so often in all."""
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
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ValueError(f"Expected the judge's address to begin with http:// or https:// but got {self.url!r}")
        parts = urlsplit(self.url or "")
        if parts.query or "@" in parts.netloc:  # it is written into run.json
            raise ValueError(f"Expected a judge's address without a key in it; put the key into {self.key_variable}")
        if min(self.frames, self.side, self.tokens) < 1 or (self.per_minute is not None and self.per_minute <= 0):
            raise ValueError(f"Expected positive numbers but got {self}")

    def part(self) -> dict[str, Any]:
        """What an answer depends on, ready for JSON."""
        asked = {"questions": VERSION, "frames": self.frames, "side": self.side, "tokens": self.tokens}
        return {"model": self.model, "url": self.url, **asked}


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said: by us with pictures, or by the judge.

    Attributes:
        role: ``"system"``, ``"user"`` or ``"assistant"``.
        text: The words.
        pictures: JPEG files that go before them.
    """

    role: str
    text: str
    pictures: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back.

    Attributes:
        text: The words; empty where the judge refused by other means.
        refused: Whether the judge, or a filter before it, refused.
        cut: Whether the answer was cut off for its length.
    """

    text: str
    refused: bool = False
    cut: bool = False


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
        settings: What it is shown.
        folder: Where replies are kept, each under the hash of all it depends on.
    """

    judge: Judge
    settings: JudgeSettings
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        kept = self.settings.cache
        self.folder = weights_home().parent / "judge" if kept is None else Path(kept)

    def rate(self, clip: Clip) -> Answer:
        """Have a clip rated, asking again up to :data:`ASKED` times while the answer cannot be used.

        Raises:
            ClipError: The judge cannot be reached.
        """
        shown = show(clip, self.settings.frames, self.settings.side)
        turns = [Turn("system", SYSTEM), Turn("user", question(shown.times, clip.prompt), shown.pictures)]
        answer = REFUSED
        for _ in range(ASKED):
            reply = self._reply(turns)
            answer = _read(reply)
            if answer.missing is None or reply.refused or answer is REFUSED:
                break
            turns += [Turn("assistant", reply.text), Turn("user", AGAIN.format(why=answer.missing))]
        return answer

    def _reply(self, turns: Sequence[Turn]) -> Reply:
        """The reply to a conversation, the one that was kept if there is one."""
        path = self.folder / f"{self.key(turns)}.json"
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
            return Reply(**{name: kept[name] for name in ("text", "refused", "cut")})
        except (OSError, ValueError, KeyError):  # never asked, or the file is damaged: ask
            pass
        reply = self.judge.reply(turns)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_json(path, asdict(reply))
        return reply

    def key(self, turns: Sequence[Turn]) -> str:
        """Hash of everything that a reply depends on."""
        said = [[turn.role, turn.text, [hashlib.sha256(p).hexdigest() for p in turn.pictures]] for turn in turns]
        whole = [self.settings.part(), dict(self.judge.identity), schema(), said]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _read(reply: Reply) -> Answer:
    if reply.refused:
        return REFUSED
    answer = read_answer(reply.text)
    if answer.missing is not None and reply.cut:
        return Answer({}, "the judge's answer was unusable: cut off for its length")
    return answer


@dataclass
class Pace:
    """Keeps requests apart.

    Attributes:
        per_minute: Most requests a minute; None for no bound.
    """

    per_minute: float | None
    _next: float = 0.0

    def wait(self) -> None:
        """Sleep until the next request is due."""
        if self.per_minute is None:
            return
        now = time.monotonic()
        if now < self._next:
            time.sleep(self._next - now)
        self._next = max(now, self._next) + 60 / self.per_minute


def key_of(settings: JudgeSettings) -> str | None:
    """The endpoint's key, from the environment.

    Raises:
        SetupError: It holds what no header may; the library's own message would quote it.
    """
    key = os.environ.get(settings.key_variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise SetupError(f"The key in {settings.key_variable} holds characters that no header may")
    return key or None
