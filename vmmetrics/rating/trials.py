"""Sessions of a rater: what is shown, trial by trial, and what was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from vmmetrics.rating.moments import Mark

Kind = Literal["training", "item", "active", "repeat", "gold", "trap"]
PACK = "pack"
"""Source of a session that was given out as a file."""
PACK_DAYS = 14
"""Days for which such a session holds its items."""
FIRST_MINUTES, LENGTHS = 15, 3
"""Minutes without an answer for which a session holds its items; once it has one, so many of its expected lengths."""


@dataclass(frozen=True, slots=True)
class Item:
    """What is voted on: a clip, or a pair of clips.

    Attributes:
        key: Name: the id of the clip, or of both of a pair.
        clips: Ids of the clips that are shown.
        prompt: Prompt that they share, or the clip's own name where there is none.
        models: Models of its clips.
    """

    key: str
    clips: tuple[str, ...]
    prompt: str
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """One showing of an item to a rater.

    Attributes:
        kind: What its answer is for: ``"item"`` was drawn at random, ``"active"`` chosen by the answers so far.
        item: Key of the item.
        media: Ids of the clips in the order shown: left, or first, comes first.
        expected: The right answer of a gold item or attention check, else None.
    """

    kind: Kind
    item: str
    media: tuple[str, ...]
    expected: int | None = None

    @property
    def is_vote(self) -> bool:
        """True if its answer is a vote on an item."""
        return self.kind in ("item", "active")


@dataclass(frozen=True, slots=True)
class Playback:
    """How one clip was played.

    Attributes:
        ended: True if it was played to its end.
        seconds: From the start of the first playback to its end.
        replays: Playbacks beyond the first.
        frames: Frames the browser was to show (``getVideoPlaybackQuality``).
        dropped: Frames it dropped.
        stalls: Times it waited for data.
        stalled: Seconds it waited.
        width: Width on the screen in CSS pixels.
        height: Height.
    """

    ended: bool
    seconds: float = 0.0
    replays: int = 0
    frames: int = 0
    dropped: int = 0
    stalls: int = 0
    stalled: float = 0.0
    width: float = 0.0
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class Display:
    """What clips were shown on.

    Attributes:
        refresh: Refreshes of the screen in a second.
        window: (width, height) of the window in CSS pixels.
        screen: (width, height) of the screen.
        ratio: Device pixels to a CSS pixel.
        zoom: Scale of a pinched view.
        full: True for a full screen.
        hidden: Seconds that the page was out of sight during the trial.
    """

    refresh: float = 0.0
    window: tuple[float, float] = (0.0, 0.0)
    screen: tuple[float, float] = (0.0, 0.0)
    ratio: float = 1.0
    zoom: float = 1.0
    full: bool = False
    hidden: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to a trial.

    Attributes:
        id: Made by the browser: the same answer sent again is not a second one.
        session: Of which session.
        trial: Number of the trial from 0.
        values: Answer by dimension; of pairs for the sides as shown.
        seconds: From the end of the clips to the answer.
        clips: How each clip was played.
        display: What they were shown on.
        at: Time, UTC.
        marks: Marks of when and where something is wrong, in designs that have them.
    """

    id: str
    session: str
    trial: int
    values: Mapping[str, int]
    seconds: float
    clips: tuple[Playback, ...]
    display: Display = field(default_factory=Display)
    at: str = ""
    marks: tuple[Mark, ...] = ()


@dataclass(slots=True)
class Session:
    """A rater's session.

    Attributes:
        session: Its id, random.
        rater: The rater's id, random.
        token: SHA-256 of the key in the rater's link; the key itself is nowhere.
        consent: Version of the text that the rater consented to.
        trials: What is shown, in order.
        training: What is shown before.
        source: Platform that sent the rater, or "".
        at: Time of the consent, UTC.
        answers: Answers by trial, the last of each.
        changes: Answers that replaced an earlier one.
        withdrawn: True if the rater withdrew.
        elsewhere: True if another study took it, and pays for it.
    """

    session: str
    rater: str
    token: str
    consent: str
    trials: tuple[Trial, ...]
    training: tuple[Trial, ...] = ()
    source: str = ""
    at: str = ""
    answers: dict[int, Answer] = field(default_factory=dict)
    changes: int = 0
    withdrawn: bool = False
    elsewhere: bool = False

    @property
    def next(self) -> int:
        """Number of the trial after the last that has an answer; answers are in order, but a line may be damaged."""
        return max(self.answers, default=-1) + 1

    @property
    def finished(self) -> bool:
        """True if the last trial has an answer."""
        return self.next == len(self.trials)

    @property
    def last(self) -> str:
        """Time of its last line."""
        return max((answer.at for answer in self.answers.values()), default=self.at)

    @property
    def minutes(self) -> float:
        """Minutes from the consent to its last line."""
        return (datetime.fromisoformat(self.last) - datetime.fromisoformat(self.at)).total_seconds() / 60

    def holds(self, moment: datetime, minutes: float) -> bool:
        """Return True if its items without an answer are still waited for.

        Args:
            moment: Now.
            minutes: Expected length of a session.
        """
        longest = max(FIRST_MINUTES, LENGTHS * minutes if self.answers else 0)
        longest = PACK_DAYS * 24 * 60 if self.source == PACK else longest
        silent = (moment - datetime.fromisoformat(self.last)).total_seconds() / 60
        return not self.withdrawn and not self.finished and abs(silent) < longest  # clocks of other sites may be wrong
