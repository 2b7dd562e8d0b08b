"""Scoring a set of clips with VideoReward, resumable: rewards are appended to a file as they come."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from vmmetrics.cas.label.ties import RaoKupper
from vmmetrics.cas.label.videoreward import MotionReward
from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.utils.storage.journal import Journal
from vmmetrics.video import Source, read_clip
from vmmetrics.video.discover import fingerprint
from vmmetrics.video.prompts import Prompts
from vmmetrics.video.reader import check_header

# From rewards to comparisons: what VideoReward would say of each pair.
#
# It was trained with ties in Rao and Kupper's form: P(A beats B) = σ(a − b − ln 5), P(B beats A) = σ(b − a − ln 5), a
# tie otherwise, with a and b the raw rewards. Fitted with that model, all pairs give back the rewards but for their
# mean.

LOG_TIE = math.log(5)
"""ln k of the training loss ("btt", k = 5)."""
RATER = "VideoReward"


class Rewarded(NamedTuple):
    """A clip with its reward.

    Attributes:
        clip: Name.
        raw: Raw motion quality.
        prompt: Text it was generated from, or None.
    """

    clip: str
    raw: float
    prompt: str | None = None


def compare_rewards(
    clips: list[Rewarded], *, sampled: bool = False, seed: int = 0, across_prompts: bool = False
) -> list[dict[str, Any]]:
    """Compare clips by their rewards, all pairs of one prompt.

    Args:
        clips: Clips with rewards.
        sampled: Draw one outcome per pair. Otherwise a pair gives three lines, one per outcome, weighted with its
            probability: no noise, but then intervals say how well one comparison per pair would do. Those lines name no
            rater, since they are one judgement in parts.
        seed: For drawing.
        across_prompts: Compare clips of different prompts too.

    Returns:
        Lines in the format of comparisons.
    """
    pools: Mapping[Hashable, list[Rewarded]] = defaultdict(list)
    for clip in clips:
        pools[None if across_prompts else clip.prompt].append(clip)
    pairs = [pair for pool in pools.values() for pair in combinations(pool, 2)]
    differences = np.array([a.raw - b.raw for a, b in pairs], np.float64)
    probabilities = np.exp(RaoKupper().log_probabilities(differences, LOG_TIE)).reshape(-1, 3)
    rng = np.random.default_rng(seed)
    lines = []
    for (a, b), chances in zip(pairs, probabilities, strict=True):
        shown: dict[str, Any] = (
            {"prompt": a.prompt} if a.prompt == b.prompt else {"prompt_a": a.prompt, "prompt_b": b.prompt}
        )
        line = {"a": a.clip, "b": b.clip, **shown}
        if sampled:
            lines.append(line | {"rater": RATER, "winner": ("a", "tie", "b")[rng.choice(3, p=chances / chances.sum())]})
        else:
            lines += [
                line | {"winner": outcome, "weight": float(chance)}
                for outcome, chance in zip(("a", "tie", "b"), chances, strict=True)
                if chance > 0
            ]
    return lines


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
