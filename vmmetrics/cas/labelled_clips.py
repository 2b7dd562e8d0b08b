"""Labelled clips: the labels of ``vmmetrics cas label``, joined with the files they name."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from vmmetrics.cas.label.comparisons import optional_text, read_lines, required_text
from vmmetrics.errors import SetupError
from vmmetrics.functional.cas import LEVELS
from vmmetrics.utils.tables import sha256_of
from vmmetrics.video import Source, discover


@dataclass(frozen=True, slots=True)
class LabelledClip:
    """One clip to train or evaluate on.

    Attributes:
        clip: Its name in the labels.
        path: Its file or folder of frames.
        level: 0 Bad to 4 Perfect.
        prompt: Text it was generated from.
        group: Which model made it, or None.
    """

    clip: str
    path: Path
    level: int
    prompt: str
    group: str | None

    @property
    def prompt_key(self) -> str:
        """Return the key of its prompt: case, spaces and punctuation do not matter."""
        text = " ".join(re.findall(r"\w+", self.prompt.casefold())) or self.prompt
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class LabelledClips:
    """Clips with levels, read from files.

    Attributes:
        clips: Clips with a level, sorted by name.
        without_level: Names in the labels that have none: they were never compared.
        labels_sha256: Hash of the file of labels.
    """

    clips: tuple[LabelledClip, ...]
    without_level: tuple[str, ...]
    labels_sha256: str


def read_labelled_clips(clips: Iterable[Path], labels: Path) -> LabelledClips:
    """Join labels with clips.

    Args:
        clips: Files and folders. A clip is found by its path from the folder given, else by its file name, with or
            without suffix, where only one has it.
        labels: JSONL, CSV or TSV with clip, level (0..4 or Bad..Perfect) and prompt, and group where known.

    Raises:
        SetupError: A file cannot be read, a line is wrong, a clip is labelled twice, or its file is not there.
    """
    without: list[str] = []
    seen: dict[Path, str] = {}
    by_key = defaultdict(list)
    for source in discover(clips):
        for key in _keys(source.name):
            by_key[key].append(source)

    def labelled(fields: Mapping[str, Any], _: str) -> LabelledClip | None:
        name = required_text(fields, "clip")
        if fields.get("level") is None:
            without.append(name)
            return None
        value = str(fields["level"]).strip()
        names = [*map(str, range(len(LEVELS))), *LEVELS]
        if value.capitalize() not in names:
            raise ValueError(f"expected level 0 to {len(LEVELS) - 1} or one of {', '.join(LEVELS)} but got {value!r}")
        level = names.index(value.capitalize()) % len(LEVELS)
        source = _source_of(name, by_key)
        if source.path in seen:
            raise ValueError(f"{name} is labelled twice, before as {seen[source.path]}")
        seen[source.path] = name
        group = optional_text(fields, "group") or source.model
        return LabelledClip(name, source.path, level, required_text(fields, "prompt"), group)

    matches = [clip for clip in read_lines([labels], labelled) if clip is not None]
    if not matches:
        raise SetupError(f"{labels}: no clip in it has a level")
    return LabelledClips(tuple(sorted(matches, key=lambda c: c.clip)), tuple(without), sha256_of(labels))


def _keys(name: str) -> tuple[str, str, str]:
    """Return the ways a clip may be named, the most telling first."""
    path = PurePosixPath(name)
    return name, f"name:{path.name}", f"stem:{path.stem}"


def _source_of(name: str, by_key: Mapping[str, list[Source]]) -> Source:
    matching = next(filter(None, (by_key.get(key) for key in _keys(name))), None)
    if matching is None:
        raise ValueError(f"no clip {name} under the paths given")
    if len(matching) > 1:
        raise ValueError(f"{name} may be {matching[0].name} or {matching[1].name}; name it by its path")
    return matching[0]


class Split(NamedTuple):
    """Clips to train on, and clips held out; no prompt is in both."""

    trained: list[LabelledClip]
    held_out: list[LabelledClip]


def split_by_prompt(clips: Sequence[LabelledClip], share: float, seed: int) -> Split:
    """Hold out whole prompts, chosen by chance, until they make up a share of the clips.

    Args:
        clips: All clips.
        share: Of the clips, to hold out; at least one prompt is, and at least one is not.
        seed: Of the choice; it does not depend on the order of ``clips``.

    Raises:
        SetupError: All clips have one prompt.
    """
    of_prompt = defaultdict(list)
    for clip in sorted(clips, key=lambda c: c.clip):
        of_prompt[clip.prompt_key].append(clip)
    prompts = sorted(of_prompt)
    if len(prompts) < 2:
        raise SetupError("Expected clips of two prompts at least, one to train on and one to hold out, but got one")
    first, *others, last = (of_prompt[prompts[n]] for n in np.random.default_rng(seed).permutation(len(prompts)))
    validation, trained = list(first), list(last)
    for group in others:
        (validation if len(validation) + len(group) / 2 <= share * len(clips) else trained).extend(group)
    return Split(sorted(trained, key=lambda c: c.clip), sorted(validation, key=lambda c: c.clip))
