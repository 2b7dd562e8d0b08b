"""Clips at an address: a folder of an object store, listed once with its prompts, or a single file."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from heapq import merge
from pathlib import Path, PurePosixPath
from typing import Any

from vmmetrics.clip import Subject
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.utils.storage.addresses import address_of, is_web, safe_name
from vmmetrics.utils.storage.remote import RemoteError, download, files_below, read_bytes, state_of
from vmmetrics.utils.storage.state import FileState
from vmmetrics.video.discover import Source, models_of, printable
from vmmetrics.video.folders import CLIP_SUFFIXES, natural_key
from vmmetrics.video.locations import WILDCARD
from vmmetrics.video.manifest import CLIP_LIST, ListedClip, is_manifest, listed_when, read_manifest, write_manifest
from vmmetrics.video.prompt_lists import LIST_SUFFIXES, MAX_LIST_BYTES
from vmmetrics.video.prompts import LIST_STEMS, MAX_SIDECAR_BYTES, PromptOf, Prompts, prompt_of_name

_READERS = 32
"""Texts beside clips that are read at a time."""
MAX_REMOTE_LIST = 2 * 2**30
"""Bytes of a list of clips or prompts at an address; a million clips take a tenth of this."""
_REPORT_EVERY = 1000
_SORTED = 20_000  # names that are sorted at a time
_CLIPS = CLIP_SUFFIXES - {".webp"}  # whether one moves stands in it


def listed_at(path: str | os.PathLike[str]) -> str | None:
    """Return the list of clips, or the address, that a user's path is; None where discovery finds its clips."""
    address = address_of(path)
    if is_manifest(path) or (address is not None and not address.startswith("hf://")):
        return os.fspath(path) if address is None else address
    return None


def listed_clips(
    sources: Sequence[str],
    keep: Path | None,
    relist: bool,
    remarks: list[str],
    progress: Callable[[int], None] | None = None,
    *,
    write: bool = True,
) -> Iterator[ListedClip]:
    """Yield the clips of lists and addresses.

    Args:
        sources: Lists of clips, here or elsewhere, and addresses.
        keep: Run directory that caches the listings of object stores; None caches nothing.
        relist: List them again in spite of a cached listing.
        remarks: Receives texts on surprises for the user.
        progress: Called with the number of clips found so far.
        write: Store a new listing there.

    Raises:
        SetupError: A list cannot be read, there is nothing at an address, or a package is missing.
    """
    folders = [source for source in sources if not is_manifest(source) and not is_web(source)]
    file = None if keep is None else keep / CLIP_LIST
    when = None if file is None or relist or not folders else listed_when(file, folders)
    if when is not None and file is not None:
        remarks.append(f"{file} of {when} lists the clips; add --relist to list them again")
        yield from read_manifest(file)
    elif folders:
        clips = list_clips(folders, remarks, progress)
        if file is not None and write:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_manifest(file, folders, clips)
        yield from clips
    yield from list_clips((source for source in sources if is_web(source) and not is_manifest(source)), remarks)
    for source in filter(is_manifest, sources):
        with local_copy(source) as copy:
            yield from read_manifest(copy, address_of(source))


@contextmanager
def local_copy(path: str | os.PathLike[str] | None) -> Iterator[Any]:
    """Yield a list at an address as a temporary file of the same name; a path as it is.

    Raises:
        SetupError: It cannot be fetched.
    """
    address = None if path is None else address_of(path)
    if address is None:
        yield None if path is None else Path(path)
        return
    with tempfile.TemporaryDirectory(prefix="vmmetrics-") as folder:
        copy = Path(folder, PurePosixPath(safe_name(address)).name.partition("?")[0] or "list")

        def bound(size: int) -> None:
            if size > MAX_REMOTE_LIST:
                raise SetupError(
                    f"{safe_name(address)} is larger than {MAX_REMOTE_LIST // 2**30} GiB; a list is expected"
                )

        try:
            download(address, copy, FileState(), bound)
        except OSError as error:
            raise SetupError(str(error)) from error
        yield copy


def list_clips(
    uris: Iterable[str], remarks: list[str] | None = None, progress: Callable[[int], None] | None = None
) -> list[ListedClip]:
    """List the clips at some addresses, with prompts from the files beside them.

    Names, models and prompts are those of a folder on this machine; no clip is read.

    Args:
        uris: Folders, patterns (``s3://bucket/*/a*.mp4``) and files of object stores; files of web servers.
        remarks: Receives texts on skipped files.
        progress: Called with the number of clips found so far.

    Raises:
        SetupError: There is nothing at an address, or it cannot be listed.
    """
    notes = [] if remarks is None else remarks
    groups: list[tuple[str, list[ListedClip]]] = []
    seen: set[str] = set()
    addresses = list(uris)
    for uri in addresses:
        try:
            clips = _at(uri, notes, progress)
        except RemoteError as error:
            raise SetupError(str(error)) from error
        if len(addresses) == 1:
            return clips
        clips = [clip for clip in clips if clip.uri not in seen]
        seen.update(clip.uri for clip in clips)
        groups.append((printable(PurePosixPath(safe_name(uri)).name), clips))
    several = len(groups) > 1 and not any(clip.model for _, clips in groups for clip in clips)
    taken = Counter(clip.name for _, clips in groups for clip in clips)
    return [
        replace(
            clip,
            name=f"{folder}/{clip.name}" if taken[clip.name] > 1 and clip.name != folder else clip.name,
            model=folder if several and clip.name != folder else clip.model,
        )
        for folder, clips in groups
        for clip in clips
    ]


def _at(uri: str, remarks: list[str], progress: Callable[[int], None] | None) -> list[ListedClip]:
    pattern = None
    top = uri.rstrip("/")
    if is_web(uri):
        state: FileState | None = state_of(uri)
    elif wildcard := WILDCARD.search(top):
        pattern, state = top, None
        top = top[: wildcard.start()].rpartition("/")[0]
    else:
        state = state_of(top)
    if state is not None:
        name = printable(PurePosixPath(safe_name(uri)).name)
        return [ListedClip(uri, name, None, state, prompt_of_name(PurePosixPath(name)))]
    return _in_folder(top, pattern, remarks, progress)


def _in_folder(
    top: str, pattern: str | None, remarks: list[str], progress: Callable[[int], None] | None
) -> list[ListedClip]:
    clips: dict[str, FileState] = {}
    texts: list[tuple[str, int]] = []
    others: Counter[str] = Counter()
    matches = re.compile(_translated(pattern[len(top) + 1 :])).fullmatch if pattern else re.compile("").match
    for name, state in files_below(top):
        suffix = PurePosixPath(name).suffix.lower()
        if any(part.startswith(".") for part in name.split("/")):
            continue
        if suffix in _CLIPS:
            if matches(name):
                clips[name] = state
                if progress is not None and not len(clips) % _REPORT_EVERY:
                    progress(len(clips))
        elif suffix == ".txt" or suffix in LIST_SUFFIXES - {".parquet"}:
            texts.append((name, state.bytes or 0))
        else:
            others[suffix or "no suffix"] += 1
    if not clips:
        suffixes = ", ".join(f"{number} {suffix}" for suffix, number in others.most_common(3))
        raise SetupError(
            f"no clips in {safe_name(pattern or top)}" + (f", only files with {suffixes}" if suffixes else "")
        )
    passed = [f"{others[suffix]} {suffix}" for suffix in (".webp", ".parquet", ".png", ".jpg") if others[suffix]]
    if passed:
        remarks.append(
            f"{safe_name(top)}: skipped {', '.join(passed)}; at an address, only video files and arrays are clips"
        )
    every = list(clips)  # sorted in parts: their keys would take more room than what was listed
    parts = (sorted(every[start : start + _SORTED], key=natural_key) for start in range(0, len(every), _SORTED))
    names = list(merge(*parts, key=natural_key))
    models = models_of([tuple(name.split("/")) for name in names], remarks)
    with tempfile.TemporaryDirectory(prefix="vmmetrics-") as folder:
        copies = Path(folder)
        _fetch_texts(top, names, texts, copies)
        try:
            prompts = Prompts(None, copies)
            return [
                _listed(top, name, clips[name], model and sys.intern(printable(model)), copies, prompts)
                for name, model in zip(names, models, strict=True)
            ]
        except SetupError as error:  # a list beside the clips that cannot be read
            raise SetupError(str(error).replace(folder, safe_name(top))) from error


def _listed(top: str, name: str, state: FileState, model: str | None, copies: Path, prompts: Prompts) -> ListedClip:
    """Return a clip with the prompt that is beside it, looked up among the copies of the texts there."""
    uri, called = f"{top}/{name}", printable(name)
    try:
        prompt = prompts.lookup(Source(copies / name, called, model, copies))
    except ClipError as error:
        return ListedClip(uri, called, model, state, error=str(error))
    except OSError:  # a name that no file of this machine can have
        return ListedClip(uri, called, model, state, _shared(None, None, "none", None))
    if not prompt.tags:
        prompt = _shared(prompt.prompt, prompt.subject, prompt.source, prompt.model)
    return ListedClip(uri, called, prompt.model, state, prompt)


@lru_cache(maxsize=4096)  # clips of one prompt, or of none, are most often listed together
def _shared(prompt: str | None, subject: Subject | None, source: str, model: str | None) -> PromptOf:
    return PromptOf(prompt, subject, source, model=model)


def _fetch_texts(top: str, clips: Sequence[str], texts: Sequence[tuple[str, int]], copies: Path) -> None:
    """Bring texts beside clips, and lists, to the same places below ``copies``."""
    if not texts:
        return
    stems = {name.rpartition(".")[0] for name in clips}
    jobs = []
    for name, size in texts:
        path = PurePosixPath(name)
        is_list = path.stem in LIST_STEMS and path.suffix.lower() != ".txt"
        if size and (is_list or name.rpartition(".")[0] in stems):
            jobs.append((name, MAX_LIST_BYTES if is_list else MAX_SIDECAR_BYTES))

    def fetch(item: tuple[str, int]) -> None:
        name, most = item
        data = read_bytes(f"{top}/{name}", most)
        try:
            (copies / name).parent.mkdir(parents=True, exist_ok=True)
            (copies / name).write_bytes(data)
        except (OSError, ValueError) as error:
            raise SetupError(f"Cannot copy {name} to {copies} to read its prompts: {error}") from error

    with ThreadPoolExecutor(_READERS) as readers:
        for _ in readers.map(fetch, jobs):
            pass


def _translated(pattern: str) -> str:
    """Return the regular expression of a shell pattern; ``**`` goes through folders.

    >>> bool(re.fullmatch(_translated("*/a*.mp4"), "wan/a1.mp4")), bool(re.fullmatch(_translated("*.mp4"), "x/a.mp4"))
    (True, False)
    """
    done = ""
    for token in re.findall(r"\*\*/?|\*|\?|\[[^\]]+\]|.", pattern, re.DOTALL):
        if token.startswith("**"):
            done += "(?:.*/)?" if token.endswith("/") else ".*"
        elif token.startswith("[") and len(token) > 1:
            done += "[" + token[1:-1].replace("\\", "\\\\").replace("!", "^", token[1] == "!") + "]"
        else:
            done += {"*": "[^/]*", "?": "[^/]"}.get(token) or re.escape(token)
    return done
