"""Which clips are to be made: a name and a seed for each sample of each prompt."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields

from vmmetrics.errors import SetupError
from vmmetrics.prompts.entry import PATTERNS, PromptEntry, Tags

SUFFIX = ".mp4"

_FILE_STEM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""An index that names a file on every system and stays in its folder."""
_LARGEST_SEED = 2**31 - 1  # what every generator takes: some hold seeds in signed 32-bit integers


@dataclass(frozen=True, slots=True)
class Job:
    """One clip to make.

    Attributes:
        entry: The prompt, and what is known about it.
        sample: Which of the prompt's clips, from 1.
        clip: Name of its file.
        seed: For the generator, 0 to 2³¹ − 1.
    """

    entry: PromptEntry
    sample: int
    clip: str
    seed: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be made.

    Attributes:
        jobs: The clips wanted now.
        listed: Those of the whole list, for the prompts beside them.
        samples: Clips per prompt.
        seed: What every clip's own seed is derived from.
    """

    jobs: tuple[Job, ...]
    listed: tuple[Job, ...]
    samples: int = 1
    seed: int = 0


def plan_of(
    entries: Sequence[PromptEntry], only: Sequence[str] = (), limit: int | None = None, samples: int = 1, seed: int = 0
) -> Plan:
    """Plan the clips of a list.

    Args:
        entries: The list.
        only: Conditions, as for :func:`select`.
        limit: Most prompts of those.
        samples: Clips per prompt.
        seed: What every clip's own seed is derived from.

    Raises:
        ValueError: A condition that cannot be.
        SetupError: As for :func:`jobs_of`.
    """
    chosen = select(entries, only)[:limit]
    return Plan(tuple(jobs_of(chosen, samples, seed)), tuple(jobs_of(entries, samples, seed)), samples, seed)


def jobs_of(entries: Sequence[PromptEntry], samples: int = 1, seed: int = 0) -> list[Job]:
    """The clips of a list: ``0001.mp4``, or ``0001-1.mp4``, ``0001-2.mp4`` where a prompt gets several.

    The first samples of all prompts come before the second ones, so that a run that is cut short has all prompts.

    Args:
        entries: The prompts.
        samples: Clips per prompt.
        seed: What every clip's own seed is derived from.

    Raises:
        SetupError: An index cannot name a file, or two clips would have one name.
    """
    jobs = []
    for sample in range(1, samples + 1):
        for entry in entries:
            if not _FILE_STEM.fullmatch(entry.index):
                raise SetupError(f"The index {entry.index!r} cannot name a file; letters, digits, _ . and - can")
            stem = entry.index if samples == 1 else f"{entry.index}-{sample}"
            jobs.append(Job(entry, sample, stem + SUFFIX, seed_of(seed, entry.index, sample)))
    names = [job.clip.lower() for job in jobs]  # some file systems do not tell cases apart
    twice = sorted(name for name, number in Counter(names).items() if number > 1)
    if twice:
        raise SetupError(f"Two prompts would be written to {twice[0]}; give every prompt an index of its own")
    return jobs


def seed_of(seed: int, index: str, sample: int) -> int:
    """Seed of one clip: the same wherever and in whatever order clips are made, and unlike its neighbours'."""
    digest = hashlib.sha256(f"{seed}:{index}:{sample}".encode()).digest()
    return int.from_bytes(digest[:8], "big") & _LARGEST_SEED


def select(entries: Sequence[PromptEntry], only: Sequence[str]) -> list[PromptEntry]:
    """The entries that fit: of conditions on one field one must hold, of those on several fields each.

    Args:
        entries: The list.
        only: ``name=value`` with a tag, ``index``, ``subject_noun`` or ``subject_class``, or just a motion pattern.

    Raises:
        ValueError: A condition on something else.
    """
    wanted: dict[str, set[str]] = {}
    for text in only:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            name, value = "pattern", name
        if name not in _FIELDS:
            raise ValueError(f"expected a pattern or NAME=VALUE with one of {', '.join(_FIELDS)} but got {text!r}")
        if name == "pattern" and value.lower() not in PATTERNS:
            raise ValueError(f"expected a pattern of {', '.join(PATTERNS)} but got {value!r}")
        wanted.setdefault(name, set()).add(value.lower())
    return [entry for entry in entries if all(_FIELDS[name](entry).lower() in wanted[name] for name in wanted)]


def _tag(name: str) -> Callable[[PromptEntry], str]:
    return lambda entry: "" if entry.tags is None else str(getattr(entry.tags, name))


_FIELDS: Mapping[str, Callable[[PromptEntry], str]] = {
    "pattern": lambda entry: entry.pattern,
    "index": lambda entry: entry.index,
    "subject_noun": lambda entry: entry.subject_noun,
    "subject_class": lambda entry: entry.subject_class,
    **{part.name: _tag(part.name) for part in fields(Tags) if part.name != "seconds"},
}
