"""Local files and folders for the user's paths: expands ``~``, wildcards, and data sets of the Hugging Face Hub."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from vmmetrics.errors import SetupError, install
from vmmetrics.utils.display.markup import shortened
from vmmetrics.video.folders import CLIP_SUFFIXES, natural_key
from vmmetrics.video.prompt_lists import LIST_SUFFIXES
from vmmetrics.video.shards import packed_clips

WILDCARD = re.compile(r"[*?\[]")
"""Begins a pattern."""
_ADDRESS = re.compile(
    r"hf://datasets/(?P<repo>[\w.-]+/[\w.-]+)"
    r"(?:@(?P<revision>refs/(?:convert|pr)/[^/]+|[^/]+))?(?:/(?P<path>.*))?"
)
_SUFFIXES = CLIP_SUFFIXES - {".npy", ".pt", ".webp"}  # arrays there are mostly latents, webp still pictures
_LISTS = ("metadata", "prompts", "prompt", "captions")
_LONGEST_CHAIN, _LONGEST_REASON = 10, 300  # errors behind one another; characters


@dataclass(frozen=True, slots=True)
class Location:
    """Local path, or matches of a pattern.

    Attributes:
        path: A file or folder; of a pattern, the folder that its wildcards begin in.
        matches: Matches of a pattern, in no particular order; None where no wildcard was expanded.
        suffixed: True if the pattern has a suffix (``*.mp4``), so that every match is a clip.
    """

    path: Path
    matches: tuple[Path, ...] | None = None
    suffixed: bool = False


def locate(source: str | os.PathLike[str], limit: int | None = None, *, listing: bool = False) -> Location:
    """Resolve a user's path: an existing path comes first, then ``~``, the Hub, and wildcards.

    Args:
        source: The user's path, pattern or address.
        limit: Clips to fetch of a data set of the Hub, None for all.
        listing: List the clips of such a data set as matches instead.

    Raises:
        SetupError: There is nothing of that name, a pattern matches nothing, or a download failed.
    """
    text = os.fspath(source)
    if is_on_hub(text):
        target, listed = download(text, limit, listing=listing)
        return Location(target, listed, listed is not None)
    path = Path(source)
    if os.path.lexists(path):
        return Location(path)
    if text.startswith("~"):
        with suppress(RuntimeError):  # no such user
            path = path.expanduser()
        if os.path.lexists(path):
            return Location(path)
    if WILDCARD.search(text):
        return _expanded(path)
    raise SetupError(f"No such file or folder: {path}{_nearest(path)}")


def _expanded(pattern: Path) -> Location:
    first = next(number for number, part in enumerate(pattern.parts) if WILDCARD.search(part))
    root = Path(*pattern.parts[:first])
    if not root.is_dir():
        raise SetupError(f"No file matches {pattern}: there is no folder {root}")
    parts = pattern.parts[first:]
    if parts[-1] == "**":  # which pathlib takes for folders alone before Python 3.13
        parts = (*parts, "*")
    matches = tuple(path for path in _matching(root, parts) if path != root)
    if not matches:
        raise SetupError(f"No file matches {pattern}")
    return Location(root, matches, not WILDCARD.search(pattern.suffix) and bool(pattern.suffix))


def _matching(root: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    """Match like a shell: hidden names only if the pattern has the dot, and ``**`` follows no symlink."""
    hidden = any(part.startswith(".") for part in parts)
    try:
        for path in root.glob(str(Path(*parts))):
            if hidden or not any(part.startswith(".") for part in path.relative_to(root).parts):
                yield path
    except (ValueError, NotImplementedError, re.error) as error:  # "a**" and the like
        raise SetupError(f"{root / Path(*parts)} is not a valid pattern: {error}") from error


def _nearest(path: Path) -> str:
    """Return a hint on the missing folder of a relative path, or ""."""
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    missing = None if folder is None else path.relative_to(folder).parts
    return f" (there is no {missing[0]} in {folder.absolute()})" if folder and missing and len(missing) > 1 else ""


def pattern_name(path: Path) -> str:
    """Return the last part of a path without wildcards, to name a folder by."""
    plain = path.parts if os.path.lexists(path) else [part for part in path.parts if not WILDCARD.search(part)]
    return plain[-1] if plain else "clips"


def is_on_hub(text: str) -> bool:
    """Return True if a text names something on the Hub; a path that lost one of its slashes does, too."""
    return text.startswith("hf:/") and not os.path.lexists(text)


def download(text: str, limit: int | None = None, *, listing: bool = False) -> tuple[Path, tuple[Path, ...] | None]:
    """Download a data set into the Hub's cache.

    Clips, prompt lists, ``metadata.*`` and Parquet files are fetched, and nothing is ever run. What is in the cache is
    not fetched again. ``HF_ENDPOINT``, ``HF_HOME``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE`` count, as everywhere.

    Args:
        text: ``hf://datasets/ORG/NAME``, optionally with ``@REVISION`` and ``/PATH``.
        limit: Number of clips, the first by name; None for all.
        listing: Fetch no clips but their lists and prompts, and return the paths they would have.

    Returns:
        Its folder, or the file or folder named in it; and the clips and Parquet files there, None unless ``listing``.

    Raises:
        SetupError: huggingface_hub is not installed, the address is wrong, or the Hub refuses.
    """
    address = re.sub("^hf:/+", "hf://", text)
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise SetupError(f"{text}: expected hf://datasets/ORG/NAME, optionally with @REVISION and /PATH")
    revision = None if match["revision"] is None else unquote(match["revision"])
    inside = (match["path"] or "").strip("/")
    if ".." in inside.split("/"):
        raise SetupError(f"{address}: '..' leads out of the data set")
    try:
        from huggingface_hub import HfApi, snapshot_download
        from huggingface_hub.constants import HF_HUB_OFFLINE
        from huggingface_hub.utils import disable_progress_bars, filter_repo_objects
    except ImportError as error:
        raise SetupError(f"{address} needs huggingface_hub: {install('hf')}") from error
    if not sys.stderr.isatty():
        disable_progress_bars()
    clips: list[str] | None = None
    patterns = _patterns(inside, _SUFFIXES | {".parquet", ".txt"})
    fetch = partial(snapshot_download, match["repo"], repo_type="dataset", revision=revision)
    try:
        if (listing or limit is not None) and not HF_HUB_OFFLINE:  # offline, nothing is fetched anyway
            names = HfApi().list_repo_files(match["repo"], repo_type="dataset", revision=revision)
            clips = _clips(filter_repo_objects(names, allow_patterns=patterns))[:limit]
            files = [name for name in clips if not name.lower().endswith(".parquet")]
            texts = [str(PurePosixPath(name).with_suffix(".txt")) for name in files]
            patterns = _patterns(inside, set()) + list(map(_escaped, texts if listing else files + texts))
        folder = Path(fetch(allow_patterns=patterns))
        if limit is not None and clips is not None and not listing:
            missing = limit - len(files)
            for name in clips[len(files) :]:  # Parquet files, each of which may hold many
                if missing > 0:
                    fetch(allow_patterns=[_escaped(name)])
                    missing -= len(packed_clips(folder / name))
    except SetupError:
        raise
    except Exception as error:  # of its HTTP client as well
        raise SetupError(f"Cannot fetch {address}: {_reason(error)}") from error
    target = Path(folder, inside)
    if not (clips if listing and clips is not None else target.exists()):
        raise SetupError(f"{address}: no clip, metadata or Parquet file there")
    if not listing or clips is None:
        return target, None
    return target.parent if clips == [inside] else target, tuple(folder / name for name in clips)


def _clips(names: Iterable[str]) -> list[str]:
    """Return the clips among some files in the order in which a folder's are scored: files, then Parquet files."""
    paths = [path for path in map(PurePosixPath, names) if path.suffix.lower() in _SUFFIXES | {".parquet"}]
    paths = [path for path in paths if path.name not in {f"{stem}.parquet" for stem in _LISTS}]
    return list(map(str, sorted(paths, key=lambda path: (path.suffix.lower() == ".parquet", natural_key(str(path))))))


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _patterns(inside: str, suffixes: Set[str]) -> list[str]:
    """Return the patterns of the files to fetch; in the Hub's patterns ``*`` matches slashes, and case counts."""
    start = _escaped(inside)
    below = f"{start}/" if inside else ""
    endings = {*suffixes, *map(str.upper, suffixes)}
    lists = {f"{stem}{suffix}" for stem in _LISTS for suffix in LIST_SUFFIXES}
    patterns = {f"{below}*{end}" for end in endings | lists} | lists  # lists of the whole data set, too
    return sorted(patterns | ({start} if inside and suffixes else set()))


def _reason(error: Exception) -> str:
    """Return the Hub's reason in one line, and what to do about it."""
    chain: list[BaseException] = [error]
    while (cause := chain[-1].__cause__ or chain[-1].__context__) and len(chain) < _LONGEST_CHAIN:
        chain.append(cause)
    names = {type(one).__name__ for one in chain}
    if names & {"RepositoryNotFoundError", "GatedRepoError"}:
        return "there is no such data set, or it needs a login: hf auth login, or set HF_TOKEN"
    if "RevisionNotFoundError" in names:
        return "it has no such revision"
    return shortened(" ".join(str(error).split()) or type(error).__name__, _LONGEST_REASON)
