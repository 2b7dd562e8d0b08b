"""The clips behind the comparisons: their prompts, and which model made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.cas.comparisons import Comparison, optional_text, raise_problems, read_rows, required_text


@dataclass(frozen=True, slots=True)
class ListedClip:
    """One clip of the pool.

    Attributes:
        clip: Name, as comparisons have it.
        prompt: Text it was generated from, or None.
        group: Model or folder, or None.
    """

    clip: str
    prompt: str | None = None
    group: str | None = None


def read_clip_list(path: Path) -> list[ListedClip]:
    """Read a list of clips: ``.jsonl``, ``.csv`` or ``.tsv`` with clip and, optionally, prompt and group.

    Raises:
        SetupError: The file cannot be read, a line has no clip, or a clip is listed twice.
    """
    problems: list[str] = []
    listed: dict[str, ListedClip] = {}
    for where, fields in read_rows(path, problems):
        try:
            clip = required_text(fields, "clip")
            if clip in listed:
                raise ValueError(f"{clip} is listed twice")
            listed[clip] = ListedClip(clip, optional_text(fields, "prompt"), optional_text(fields, "group"))
        except ValueError as error:
            problems.append(f"{where}: {error}")
    raise_problems(problems)
    return list(listed.values())


def collect_clips(rows: Iterable[Comparison], listed: Iterable[ListedClip] | None = None) -> list[ListedClip]:
    """Every clip of the comparisons and of the list, sorted, with what either says of it.

    Args:
        rows: Comparisons.
        listed: The list, which must then name every clip compared; None where there is none.

    Returns:
        Clips by name; a group that is not given is the first folder of the name, where it has one.

    Raises:
        SetupError: A clip has two prompts, or is compared and not listed.
    """
    known = None if listed is None else {entry.clip: entry for entry in listed}
    prompts = {} if known is None else {name: entry.prompt for name, entry in known.items()}
    source = dict.fromkeys(prompts, "the list of clips")
    problems = []
    for row in rows:
        for clip, prompt in ((row.a, row.prompt_a), (row.b, row.prompt_b)):
            if known is not None and clip not in known:
                problems.append(f"{row.where}: {clip} is not in the list of clips")
            elif prompts.get(clip) is None:
                prompts[clip], source[clip] = prompt, row.where
            elif prompt is not None and prompt != prompts[clip]:
                problems.append(f"{row.where}: {clip} has another prompt in {source[clip]}")
    raise_problems(problems)
    return [ListedClip(clip, prompts[clip], _group(clip, known)) for clip in sorted(prompts)]


def _group(clip: str, known: Mapping[str, ListedClip] | None) -> str | None:
    if known is not None and known[clip].group is not None:
        return known[clip].group
    folder, slash, _ = clip.partition("/")
    return folder if slash and folder else None
