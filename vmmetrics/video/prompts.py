"""Prompt of a clip: from the user's list, a text or list beside the clip, or its name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path, PurePath, PurePosixPath
from types import MappingProxyType
from typing import NamedTuple

from vmmetrics.clip import Subject
from vmmetrics.errors import ClipError, os_reason
from vmmetrics.types import Tags
from vmmetrics.utils.schema import parse_json
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.utils.weights.manifest import RETIRED_LIST, shipped_folder, shipped_list
from vmmetrics.video.discover import Source
from vmmetrics.video.names import prompt_in_name
from vmmetrics.video.prompt_lists import LIST_SUFFIXES, PromptList, read_list, read_metadata, subject_in
from vmmetrics.video.shards import PROMPT_COLUMNS, row_of
from vmmetrics.video.subject import find_subject

MAX_SIDECAR_BYTES = 64 * 2**10
"""Longer texts beside a clip are no prompts."""

MAX_PROMPT = 100_000
"""Characters of a prompt; longer ones are refused, as no model reads them."""

_LIST_STEMS = ("prompts", "prompt", "captions")  # lists looked for beside the clips, in this order
_SNAPSHOT = re.compile(r"(?:datasets|models)--[^/]+/snapshots/[^/]+")
_METADATA = ("metadata",)  # of a data set in the videofolder layout
LIST_STEMS = frozenset(_LIST_STEMS + _METADATA)
"""Names, without suffix, of the lists that count beside clips."""


class PromptOf(NamedTuple):
    """Prompt of a clip, and its source.

    Attributes:
        prompt: The prompt, or None.
        subject: Subject, or None.
        source: ``"list"``, ``"retired"`` (of an earlier version of the library), ``"dataset"``, ``"sidecar"``,
            ``"name:wan"`` (of the pattern), ``"name:wan (cut)"`` where it is the beginning of a longer one, or
            ``"none"``.
        tags: Tags of the list on the expected motion.
        model: Model that made the clip, if a data set's metadata has it.
    """

    prompt: str | None
    subject: Subject | None
    source: str
    tags: Tags = MappingProxyType({})
    model: str | None = None


class Prompts:
    """Prompts and subjects of a set of clips: from a prompt list, or looked for beside the clips.

    Args:
        path: The list (JSON, JSON Lines, CSV, TSV or Parquet), ``"library"`` or another name of
            :data:`~vmmetrics.utils.weights.manifest.PROMPT_LISTS` for one that is shipped, in which indices of earlier
            versions are found as well; None looks beside each clip.
        root: Folder against which a relative ``path`` that does not exist is tried too.
        subject: Subject of every clip (``--subject``); overrides lists and prompts.

    Raises:
        SetupError: The list cannot be read, or contradicts itself.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        root: str | os.PathLike[str] | None = None,
        *,
        subject: str | None = None,
    ) -> None:
        self._subject = None if subject is None else subject_in(subject, "option")
        self._list: PromptList | None = None
        self._retired_file: Path | None = None
        self._beside: dict[tuple[Path, tuple[str, ...]], PromptList | None] = {}
        if path is not None:
            file = shipped_list(path)
            if not file.exists() and root is not None and (Path(root) / file).exists():
                file = Path(root) / file
            self._list = PromptList(read_list(file))
            if file.parent == shipped_folder("prompts"):
                self._retired_file = file.parent / RETIRED_LIST

    @cached_property
    def _retired(self) -> PromptList:
        """Prompts of earlier versions of a shipped list; none of a list of one's own."""
        return PromptList([] if self._retired_file is None else read_list(self._retired_file))

    def __len__(self) -> int:
        return 0 if self._list is None else len(self._list.entries)

    def lookup(self, source: Source) -> PromptOf:
        """Find the prompt of a clip: in the list given, its data set, a text or list beside it, then its name.

        No path in a list is ever opened, and a list or text beside a clip counts only inside the folder given.

        Raises:
            SetupError: A list beside the clip cannot be read.
            ClipError: The text beside the clip cannot be read, or the prompt is longer than :data:`MAX_PROMPT`.
        """
        listed = None if self._list is None else _from_list(self._list, source)
        if listed is None and (old := _from_list(self._retired, source)) is not None:
            listed = old._replace(source="retired")
        packed = row_of(source.path) is not None
        metadata = None if packed else self._beside_it(source, _METADATA)
        match = listed or (PromptOf(source.prompt, None, "dataset") if source.prompt else None)
        if match is None and not packed:
            match = self._sidecar(source) or self._beside_it(source, _LIST_STEMS)
        if match is None and metadata is not None and (metadata.prompt or metadata.subject):
            match = metadata
        if match is None:
            path: PurePath = PurePosixPath(source.name) if packed else source.path
            match = prompt_of_name(path, folder=source.path.is_dir())
        return self._checked(match)._replace(model=(metadata and metadata.model) or source.model)

    def lookup_row(self, name: str, prompt: PromptOf | None) -> PromptOf:
        """Find the prompt of a row of a data set or list of clips: in the list given, then the row, then the name.

        Raises:
            ClipError: The prompt is longer than :data:`MAX_PROMPT`.
        """
        listed = None if self._list is None else _named_in(self._list, name)
        return self._checked(listed or prompt or prompt_of_name(PurePosixPath(name)))

    def _checked(self, match: PromptOf) -> PromptOf:
        if match.prompt and len(match.prompt) > MAX_PROMPT:
            raise ClipError(f"The prompt has {len(match.prompt):,} characters; shorten it to {MAX_PROMPT:,}")
        subject = self._subject or match.subject
        if subject is None and match.prompt:
            subject = find_subject(match.prompt)
        return match._replace(subject=subject)

    def unmatched(self, names: Iterable[str]) -> list[str]:
        """Return the clips of the list given that are not among the clips with these names, as the list writes them."""
        if self._list is None:
            return []
        used = {self._list.find(name) for name in names}
        return [entry.clip for number, entry in enumerate(self._list.entries) if number not in used]

    def _sidecar(self, source: Source) -> PromptOf | None:
        """Look into the text or the JSON object beside the clip: ``a.txt``, ``a.json`` with ``prompt``."""
        path = source.path
        for suffix in (".txt", ".json"):
            file = path.with_name(path.name + suffix) if path.is_dir() else path.with_suffix(suffix)
            if file != path and os.path.isfile(file) and _is_inside(file, _home(source)):  # noqa: PTH113  (no name is too long)
                text = _beside(file)
                prompt = " ".join((_prompt_of_json(text) if suffix == ".json" else text).split())
                if prompt:
                    return PromptOf(prompt, None, "sidecar")
        return None

    def _beside_it(self, source: Source, stems: tuple[str, ...]) -> PromptOf | None:
        """Look into the lists in the clip's folder and those above it, up to the root given."""
        home = _home(source)
        for folder in source.path.parents:
            if (folder, stems) not in self._beside:
                files = (folder / f"{stem}{suffix}" for stem in stems for suffix in sorted(LIST_SUFFIXES))
                file = next((file for file in files if file.is_file() and _is_inside(file, home)), None)
                read = read_metadata if stems == _METADATA else read_list
                self._beside[folder, stems] = None if file is None else PromptList(read(file))
            listed = self._beside[folder, stems]
            match = None if listed is None else _from_list(listed, source, folder)
            if match or folder == home:
                return match
        return None


def prompt_of_name(path: PurePath, *, folder: bool = False) -> PromptOf:
    """Return the prompt in a clip's name, or none; ``folder`` is as for :func:`prompt_in_name`."""
    name = prompt_in_name(path, folder=folder)
    return PromptOf(name.text, None, name.source) if name else PromptOf(None, None, "none")


def _home(source: Source) -> Path:
    """Return the top folder in which lists count: the root, or the snapshot of a data set of the Hub."""
    root = source.root or source.path.parent
    return _snapshot_of(root) or root


def _is_inside(path: Path, root: Path) -> bool:
    """Return True if a list or text, its symlinks followed, lies in ``root``.

    In a snapshot of the Hugging Face cache (``snapshots/REVISION/a.mp4``, a link to ``../../blobs/HASH``) the blobs of
    the same repository count as inside.
    """
    target, home = path.resolve(), root.resolve()
    if target.is_relative_to(home):
        return True
    snapshot = _snapshot_of(home)
    return snapshot is not None and target.is_relative_to(snapshot.parent.parent / "blobs")


def _snapshot_of(path: Path) -> Path | None:
    """Return the snapshot of the Hugging Face cache that a path lies in, ``.../snapshots/REVISION``, or None."""
    return next((folder for folder in (path, *path.parents) if _SNAPSHOT.fullmatch("/".join(folder.parts[-3:]))), None)


def _beside(file: Path) -> str:
    """Read a text beside a clip; JSON that is too long for a prompt is something else, and skipped."""
    try:
        with open_regular(file) as opened:
            data = opened.read(MAX_SIDECAR_BYTES + 1)
        if len(data) > MAX_SIDECAR_BYTES:
            if file.suffix == ".json":
                return ""
            raise ClipError(f"{file.name} beside the clip is too long for a prompt")
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ClipError(f"{file.name} beside the clip cannot be read as UTF-8 text: {os_reason(error)}") from error


def _prompt_of_json(text: str) -> str:
    """Return the prompt in an object such as Mochi writes beside its clips; nothing for other JSON."""
    try:
        value = parse_json(text, gaps=True)
    except ValueError:
        return ""
    if not isinstance(value, Mapping):
        return ""
    return next((prompt for column in PROMPT_COLUMNS if isinstance(prompt := value.get(column), str)), "")


def _from_list(listed: PromptList, source: Source, folder: Path | None = None) -> PromptOf | None:
    """Look a clip up by its name in the run, then by its path from where the list lies."""
    entry = _named_in(listed, source.name)
    if entry is None and folder is not None:
        entry = _named_in(listed, source.path.relative_to(folder).as_posix())
    return entry


def _named_in(listed: PromptList, name: str) -> PromptOf | None:
    number = listed.find(name)
    if number is None:
        return None
    entry = listed.entries[number]
    return PromptOf(entry.prompt, entry.subject, "list", entry.tags, entry.model)
