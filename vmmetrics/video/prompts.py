"""The prompt that belongs to a clip: from a list given, a text beside the clip, a list beside it, or its name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from vmmetrics.clip import Subject
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.shipped import shipped_list
from vmmetrics.types import Tags
from vmmetrics.video.discover import Source
from vmmetrics.video.opening import open_regular
from vmmetrics.video.prompt_lists import LIST_SUFFIXES, Entry, read_list
from vmmetrics.video.subject import find_subject, subject_of_phrase

MAX_SIDECAR_BYTES = 64 * 2**10
"""Longer texts beside a clip are no prompts."""

MAX_PROMPT = 100_000
"""Characters of a prompt; what is longer is refused, not cut: no model reads it, and a list must not stall a run."""

_LIST_STEMS = ("prompts", "prompt", "captions")  # lists looked for beside the clips, in this order
_LONGEST_NUMBER = 100  # digits; Python refuses to read some thousands, and no clips are counted so far
_INDEXED_NAME = re.compile(r"(?P<prompt>.*\S)-[0-9]+")


class PromptOf(NamedTuple):
    """What is known about a clip's prompt.

    Attributes:
        prompt: The prompt, or None.
        subject: Who or what it is about, or None.
        source: ``"list"``, ``"sidecar"``, ``"name"`` or ``"none"``.
        tags: What the list says of the motion asked for.
    """

    prompt: str | None
    subject: Subject | None
    source: str
    tags: Tags = MappingProxyType({})


_NOTHING = PromptOf(None, None, "none")


class _Listed:
    """A prompt list with its keys: a clip is looked up by path, file name, stem, then number."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self._by_key: dict[tuple[str, str | int], int | None] = {}
        for number, entry in enumerate(entries):
            for key in _keys(entry.clip):
                self._add(key, number)

    def _add(self, key: tuple[str, str | int], number: int) -> None:
        present = self._by_key.setdefault(key, number)
        if present is None or present == number:
            return
        first, second = self.entries[present], self.entries[number]
        if (first.prompt, first.subject, first.tags) == (second.prompt, second.subject, second.tags):
            return
        if key[0] == "path":
            raise SetupError(f"{second.where}: {second.clip} has another prompt in {first.where}")
        self._by_key[key] = None  # two folders with equal file names: the path must tell them apart

    def find(self, name: str) -> int | None:
        """Position of the entry for the clip called ``name``, or None."""
        for key in _keys(name):
            number = self._by_key.get(key)
            if number is not None:
                return number
        return None


def _keys(clip: str) -> list[tuple[str, str | int]]:
    """The ways to match a clip, the most telling first. Every tail of its path counts as a path."""
    path = PurePosixPath(clip.replace("\\", "/") if "/" not in clip else clip)
    parts = [part for part in path.parts if part not in ("/", ".", "..")]
    if not parts:
        return []
    tails = [("path", "/".join(parts))]
    tails += [("tail", "/".join(parts[start:])) for start in range(len(parts))]
    # Only a suffix that looks like one is taken off: "0.5 speed" is a name.
    stem = re.sub(r"\.[A-Za-z0-9]{2,4}$", "", parts[-1])
    keys: list[tuple[str, str | int]] = [*tails, ("stem", "/".join([*parts[:-1], stem])), ("stem", stem)]
    if stem.isdecimal() and len(stem) < _LONGEST_NUMBER:
        keys.append(("number", int(stem)))  # VMBench: index 1 is 0001.mp4
    return keys


class Prompts:
    """Prompts and subjects of a set of clips. Build it with :meth:`load`.

    Args:
        listed: Entries of the list given, or None to look beside each clip.
        subject: Subject of every clip, or None.
    """

    def __init__(self, listed: Sequence[Entry] | None = None, subject: Subject | None = None) -> None:
        self._given = None if listed is None else _Listed(listed)
        self._subject = subject
        self._beside: dict[Path, _Listed | None] = {}

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str] | None = None,
        root: str | os.PathLike[str] | None = None,
        *,
        subject: str | None = None,
    ) -> Prompts:
        """Read a prompt list, or get ready to look for prompts beside the clips.

        Args:
            path: The list (JSON, JSON Lines, CSV or TSV), ``"library"`` or ``"mini"`` for one that is shipped, or None.
            root: Folder against which a relative ``path`` that does not exist is tried too.
            subject: What every clip is about (``--subject``), whatever lists and prompts say.

        Raises:
            SetupError: The list cannot be read, or contradicts itself.
        """
        whole = None if subject is None else subject_of_phrase(subject, "option") or Subject(subject, subject, "option")
        if path is None:
            return cls(None, whole)
        file = shipped_list(path)
        if not file.exists() and root is not None and (Path(root) / file).exists():
            file = Path(root) / file
        return cls(read_list(file), whole)

    def __len__(self) -> int:
        return 0 if self._given is None else len(self._given.entries)

    def lookup(self, source: Source) -> PromptOf:
        """Find the prompt of a clip: in the list given, a ``.txt`` beside it, a list beside it, then its name.

        No path in a list is ever opened, and a list or text beside a clip counts only inside the folder given.

        Raises:
            SetupError: A list beside the clip cannot be read.
            ClipError: The text beside the clip cannot be read, or the prompt is longer than :data:`MAX_PROMPT`.
        """
        found = self._listed(source) or self._sidecar(source) or self._listed_beside(source) or _from_name(source)
        if found.prompt and len(found.prompt) > MAX_PROMPT:
            raise ClipError(f"The prompt has {len(found.prompt):,} characters; shorten it to {MAX_PROMPT:,}")
        subject = self._subject or found.subject
        if subject is None and found.prompt:
            subject = find_subject(found.prompt)
        return found._replace(subject=subject)

    def unmatched(self, sources: Iterable[Source]) -> list[str]:
        """Clips that the list given names and that are not among ``sources``, as the list writes them."""
        if self._given is None:
            return []
        used = {self._given.find(source.name) for source in sources}
        return [entry.clip for number, entry in enumerate(self._given.entries) if number not in used]

    def _listed(self, source: Source) -> PromptOf | None:
        return None if self._given is None else _from_list(self._given, source)

    def _sidecar(self, source: Source) -> PromptOf | None:
        path = source.path
        text_file = path.with_suffix(".txt") if path.is_file() else path.with_name(path.name + ".txt")
        if not text_file.is_file() or not _inside(text_file, source):
            return None
        try:
            with open_regular(text_file) as file:
                data = file.read(MAX_SIDECAR_BYTES + 1)
            if len(data) > MAX_SIDECAR_BYTES:
                raise ClipError(f"{text_file.name} beside the clip is too long for a prompt")
            text = data.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ClipError(f"{text_file.name} beside the clip cannot be read as UTF-8 text: {error}") from error
        prompt = " ".join(text.split())
        return PromptOf(prompt, None, "sidecar") if prompt else None

    def _listed_beside(self, source: Source) -> PromptOf | None:
        """Look in the clip's folder and those above it, up to the root given."""
        for folder in source.path.parents:
            if folder not in self._beside:
                self._beside[folder] = _list_in(folder, source)
            listed = self._beside[folder]
            if listed is not None:
                found = _from_list(listed, source, folder)
                if found:
                    return found
            if source.root is None or folder == source.root:
                return None
        return None


def _list_in(folder: Path, source: Source) -> _Listed | None:
    for stem in _LIST_STEMS:
        for suffix in sorted(LIST_SUFFIXES):
            file = folder / (stem + suffix)
            if file.is_file() and _inside(file, source):
                return _Listed(read_list(file))
    return None


def _inside(file: Path, source: Source) -> bool:
    home = source.root or source.path.parent
    return file.resolve().is_relative_to(home.resolve())


def _from_list(listed: _Listed, source: Source, folder: Path | None = None) -> PromptOf | None:
    """Look a clip up by its name in the run, then by its path from where the list lies."""
    number = listed.find(source.name)
    if number is None and folder is not None:
        number = listed.find(source.path.relative_to(folder).as_posix())
    if number is None:
        return None
    entry = listed.entries[number]
    return PromptOf(entry.prompt, entry.subject, "list", entry.tags)


def _from_name(source: Source) -> PromptOf:
    """Take the prompt out of names such as ``a dog runs-3.mp4``; a single word is a name, not a prompt."""
    match = _INDEXED_NAME.fullmatch(source.path.stem if source.path.suffix else source.path.name)
    if match is None or " " not in match["prompt"]:
        return _NOTHING
    return PromptOf(match["prompt"], None, "name")
