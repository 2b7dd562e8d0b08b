"""Scoring a set of clips with VideoReward, resumable: rewards are appended to a file as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from vmmetrics.cas.reward_pairs import Rewarded
from vmmetrics.cas.videoreward import MotionReward
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.run.fingerprint import fingerprint
from vmmetrics.run.journal import Journal
from vmmetrics.video import Source, read_clip
from vmmetrics.video.prompts import Prompts
from vmmetrics.video.reader import check_header


class Rewarder(Protocol):
    """What scores clips."""

    def score(self, clip: Clip) -> MotionReward:
        """Score one clip."""


@dataclass(frozen=True, slots=True)
class Step:
    """One clip done.

    Attributes:
        clip: Its name.
        reward: Raw motion quality, or None where it failed.
        error: Why it failed, or None.
        known: Whether the reward was in the file before.
        prompt: Its prompt, or None.
    """

    clip: str
    reward: float | None
    error: str | None = None
    known: bool = False
    prompt: str | None = None


def reward_clips(
    sources: Sequence[Source], prompts: Prompts, model: Rewarder, model_id: str, rewards: Path
) -> Iterator[Step]:
    """Score clips one after another; those in ``rewards`` with the same content and model are not scored again.

    Args:
        sources: The clips.
        prompts: Their prompts.
        model: What scores them.
        model_id: Names the model and its settings; rewards of another are not used.
        rewards: JSON Lines file of rewards, appended to.

    Yields:
        A step per clip.

    Raises:
        SetupError: The file holds rewards of another model, or cannot be written.
    """
    journal = Journal(rewards)
    known: dict[tuple[str, str], float] = {}
    for line in journal.read_as(_Line):
        if line.model != model_id:
            raise SetupError(f"{rewards} has rewards of another model or setting; name another file")
        known[line.clip, line.sha256] = line.mq_raw
    if journal.damaged:
        raise SetupError(*journal.warnings(), f"remove these lines from {rewards}, or name another file")
    for source in sources:
        try:
            check_header(source.path)
            prompt, content = prompts.lookup(source).prompt, fingerprint(source.path)
            if (source.name, content) in known:
                yield Step(source.name, known[source.name, content], known=True, prompt=prompt)
                continue
            found = model.score(read_clip(source.path, name=source.name))
        except (ClipError, OSError) as error:
            yield Step(source.name, None, str(error))
            continue
        record = {"clip": source.name, "sha256": content, "model": model_id, "prompt": prompt, "group": source.model}
        journal.append([record | {"mq_raw": found.raw, "mq": found.normalised}])
        yield Step(source.name, found.raw, prompt=prompt)


@dataclass(frozen=True, slots=True)
class _Line:
    """What is taken from a line of the file."""

    clip: str
    sha256: str
    model: str
    mq_raw: float


def rewarded(steps: Iterable[Step]) -> list[Rewarded]:
    """The clips that have a reward."""
    return [Rewarded(step.clip, step.reward, step.prompt) for step in steps if step.reward is not None]
