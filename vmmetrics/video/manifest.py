"""Lists of clips in a file: ``clips.jsonl``, with all that a run asks of each clip, or a text of addresses."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from vmmetrics.clip import Subject
from vmmetrics.errors import SetupError, cannot
from vmmetrics.utils.schema import convert, parse_json
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.addresses import address_of, is_web, safe_name
from vmmetrics.utils.storage.atomic import temporary_of
from vmmetrics.utils.storage.state import State
from vmmetrics.video.discover import models_of
from vmmetrics.video.prompts import PromptOf
from vmmetrics.video.search import printable

SUFFIXES = (".jsonl", ".txt")
"""Files of these kinds, named as clips, are lists of them."""
KEPT = "clips.jsonl"
"""Name of the list in a run directory."""
MAX_LINE = 2**20
"""Bytes of a line; a list with a longer one is refused."""
_PLACES = ("uri", "url", "path", "file")  # the first that is there says where the clip is
_SEPARATORS = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}


@dataclass(frozen=True, slots=True)
class ListedClip:
    """A clip of a list.

    Attributes:
        uri: Its address, or its absolute path on this machine.
        name: What it is called.
        model: Which model made it, or None.
        state: Its state when it was listed, as far as known.
        prompt: Its prompt, None where it was not looked for.
        error: Why it cannot be scored, where that is known already.
    """

    uri: str
    name: str
    model: str | None = None
    state: State = State()  # noqa: RUF009 - frozen
    prompt: PromptOf | None = None
    error: str | None = None

    @property
    def local(self) -> bool:
        """Whether it lies on this machine."""
        return "://" not in self.uri


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of ``clips.jsonl``."""

    uri: str
    name: str | None = None
    model: str | None = None
    bytes: int | None = None
    mtime_ns: str | None = None
    etag: str | None = None
    prompt: str | None = None
    prompt_source: str | None = None
    subject: Subject | None = None
    tags: Mapping[str, str | float] = field(default_factory=dict)
    error: str | None = None


def read_manifest(path: Path, origin: str | None = None) -> list[ListedClip]:
    """Read a list of clips.

    Args:
        path: The file, on this machine.
        origin: The address that it was fetched from, None for a file of this machine. A list from elsewhere names no
            path here.

    Returns:
        The clips in the order of the list, each place once. A clip without a name is called by its place below the
        folder that all of those have in common, and its first folder there is its model.

    Raises:
        SetupError: It cannot be read, or a line is wrong; the text names the line.
    """
    places: set[str] = set()
    clips: list[ListedClip] = []
    unnamed: list[int] = []
    prompts: dict[tuple[Any, ...], PromptOf] = {}
    shown = path.name if origin is None else safe_name(origin)
    for number, line in _lines(path, shown):
        try:
            clip = _clip(line, path, origin, prompts)
        except ValueError as error:
            raise SetupError(f"{shown}, line {number}: {error}") from error
        if clip.uri not in places:
            places.add(clip.uri)
            unnamed += [] if clip.name else [len(clips)]
            clips.append(clip)
    if unnamed:
        _name(clips, unnamed)
    return clips


def _lines(path: Path, shown: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and content of the lines that name a clip."""
    try:
        with path.open("rb") as file:
            number = 0
            while raw := file.readline(MAX_LINE + 1):
                number += 1
                if len(raw) > MAX_LINE:
                    raise SetupError(
                        f"{shown}, line {number}: longer than {MAX_LINE // 2**20} MiB; a place is expected"
                    )
                text = raw.strip()
                if not text or (path.suffix == ".txt" and text.startswith(b"#")):
                    continue
                if path.suffix == ".txt":
                    yield number, {"uri": text.decode("utf-8")}
                    continue
                line = parse_json(text)
                if not isinstance(line, dict):
                    raise SetupError(f"{shown}, line {number}: expected an object with uri but got other JSON")
                if "listing_of" not in line:
                    yield number, line
    except OSError as error:
        raise cannot("read", path, error) from error
    except ValueError as error:
        raise SetupError(f"{shown}, line {number}: not readable as a list of clips: {error}") from error


def _clip(line: dict[str, Any], path: Path, origin: str | None, prompts: dict[tuple[Any, ...], PromptOf]) -> ListedClip:
    if "uri" not in line:
        line["uri"] = next((line[name] for name in _PLACES if line.get(name)), None)
    entry = convert(_Line, line)
    uri = _place(entry.uri, path, origin)
    prompt = None
    if "prompt" in line:
        source = entry.prompt_source or ("dataset" if entry.prompt else "none")
        prompt = PromptOf(entry.prompt, entry.subject, source, dict(entry.tags), None)
        if not entry.prompt and not entry.subject and not entry.tags:
            prompt = prompts.setdefault((source,), prompt)  # one for all: they are many
    kept = {"bytes": entry.bytes, "mtime_ns": entry.mtime_ns, "etag": entry.etag}
    state = State.of({name: value for name, value in kept.items() if value is not None})
    return ListedClip(
        uri, printable(entry.name or ""), entry.model and printable(entry.model), state, prompt, entry.error
    )


def _place(place: str, path: Path, origin: str | None) -> str:
    """Return the address, or the absolute path, that a list names; relative ones are below the list's folder."""
    if "\0" in place or not place:
        raise ValueError("expected an address or a path")
    address = address_of(place)
    if address is not None:
        return address
    if origin is None:
        return os.path.abspath(path.parent / Path(place).expanduser())  # noqa: PTH100 - links are kept
    if place.startswith(("/", "~")) or ".." in place.split("/"):
        raise ValueError(f"a list from elsewhere names no file of this machine: {printable(place)[:80]}")
    return f"{origin.rpartition('/')[0]}/{place}"


def _name(clips: list[ListedClip], unnamed: Sequence[int]) -> None:
    """Name clips by their place below the folder that those without a name have in common."""
    places = [PurePosixPath(safe_name(clips[position].uri)) for position in unnamed]
    try:
        root = PurePosixPath(os.path.commonpath([str(place.parent) for place in places]))
    except ValueError:  # nothing in common
        root = PurePosixPath(".")
    parts = [place.relative_to(root).parts for place in places]
    for position, part, model in zip(unnamed, parts, models_of(parts, []), strict=True):
        clips[position] = replace(clips[position], name="/".join(part), model=clips[position].model or model)


def distinct(clips: list[ListedClip], taken: Iterable[str] = ()) -> list[ListedClip]:
    """Return clips with their whole place for a name where two, or one of those taken, would have one name."""
    names = Counter(taken)
    names.update(clip.name for clip in clips)
    if len(names) == names.total():
        return clips
    return [replace(clip, name=safe_name(clip.uri)) if names[clip.name] > 1 else clip for clip in clips]


# The list that a run keeps of what it listed.


def write_manifest(path: Path, listing_of: Sequence[str], clips: Iterable[ListedClip]) -> None:
    """Write ``clips.jsonl`` in one step: a line on the listing, then one per clip.

    Raises:
        SetupError: It cannot be written.
    """
    temporary = temporary_of(path)
    header = {"listing_of": [safe_name(uri) for uri in listing_of], "listed": provenance.now()}
    try:
        with temporary.open("w", encoding="utf-8", errors="backslashreplace") as file:
            for line in (header, *map(_line, clips)):
                file.write(json.dumps(line, **_SEPARATORS) + "\n")  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot("write", path, error) from error


def _line(clip: ListedClip) -> dict[str, Any]:
    prompt = clip.prompt or PromptOf(None, None, "none")
    subject = prompt.subject and {name: getattr(prompt.subject, name) for name in ("noun", "phrase", "source")}
    told: dict[str, Any] = {
        "model": clip.model,
        "subject": subject,
        "tags": dict(prompt.tags) or None,
        "error": clip.error,
    }
    told = {**(clip.state.kept() or {}), **{name: value for name, value in told.items() if value is not None}}
    return {"uri": clip.uri, "name": clip.name, **told, "prompt": prompt.prompt, "prompt_source": prompt.source}


def listed_when(path: Path, listing_of: Sequence[str]) -> str | None:
    """Return when the list of a run directory was made; None where there is none, or it is of other folders."""
    try:
        with path.open("rb") as file:
            header = parse_json(file.readline(MAX_LINE))
        same = header["listing_of"] == [safe_name(uri) for uri in listing_of]
        return str(header["listed"]) if same else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_manifest(given: str | os.PathLike[str]) -> bool:
    """Tell whether what a user named as clips is a list of them."""
    name = safe_name(os.fspath(given)) if is_web(os.fspath(given)) else os.fspath(given)
    return name.lower().endswith(SUFFIXES) and not os.path.isdir(given)  # noqa: PTH112 - a text or a path
