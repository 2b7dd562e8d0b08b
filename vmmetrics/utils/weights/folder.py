"""Weights folder: one folder per checkpoint, with the hashes of its files when they were first fetched.

A hash is recorded once (trust on first use). It is computed again only where size or time of the file have changed, or
where :func:`inspect` is asked to.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vmmetrics.errors import SetupError, cannot
from vmmetrics.utils import web
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.weights.manifest import Published, PublishedFile, is_inside, published

# Whether a file of weights ends where it should, told from the file alone: no published size or hash needed.

_HEADER_LENGTH = 8  # bytes of a safetensors file that say how long its header is
_LONGEST_HEADER = 100_000_000  # bytes; the format's own limit
_MARKUP = (b"<!doctype", b"<html", b"<?xml")
_ZIPPED = (".pt", ".pth", ".bin")


def fault_of(path: Path, name: str | None = None) -> str | None:
    """Return the fault of a file's format, or None.

    The form of ``.safetensors``, ``.pt``, ``.pth``, ``.bin`` and ``.json`` is looked at. torch's old format, no
    archive, cannot be told cut off from whole.

    Args:
        path: A file.
        name: What it is to be called; None where it is called so already.
    """
    with open_regular(path) as file:
        start = file.read(16)
    if not start:
        return "is empty"
    if start.lower().startswith(_MARKUP):
        return "is a web page, not weights: a proxy or login page answered for the server"
    if start.startswith(b"version https://"[:16]):
        return "is a Git LFS pointer, not the weights it stands for"
    suffix = Path(name or path).suffix
    if suffix == ".safetensors":
        return _fault_of_safetensors(path)
    if suffix in _ZIPPED and start.startswith(b"PK\x03\x04") and not zipfile.is_zipfile(path):
        return "is cut off: the end of its archive is missing"
    if suffix == ".json":
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:
            return f"is not JSON: {error}"
    return None


def _fault_of_safetensors(path: Path) -> str | None:
    size = path.stat().st_size
    with open_regular(path) as file:
        length = int.from_bytes(file.read(_HEADER_LENGTH), "little")
        if length > _LONGEST_HEADER:
            return "is not a safetensors file"
        text = file.read(length)
    if len(text) < length:
        return f"is cut off at {size} bytes, inside its header"
    try:
        header = json.loads(text)
        ends = [int(entry["data_offsets"][1]) for name, entry in header.items() if name != "__metadata__"]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
        return "is not a safetensors file"
    expected = _HEADER_LENGTH + length + max(ends, default=0)
    return (
        None if size == expected else f"has {size} bytes where its header states {expected}: it is cut off or altered"
    )


LOCK = "weights.lock.json"
"""Beside the files: their sizes, times and hashes, as they were first fetched."""
PARTIAL = ".part"
"""End of the name of a file that is still on its way."""
_DOUBTFUL = -1  # a time no file has: the hash is computed at the next look

Effort = Literal["sizes", "changed", "all"]
"""Files to hash: none, those new or changed since they were recorded, or all."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """State of a checkpoint on disk.

    Attributes:
        entry: The checkpoint.
        folder: Folder of its files, which may not exist yet.
        files: Intact files, by name.
        missing: Names, or patterns, of missing files.
        faults: Faults of damaged files, by name.
    """

    entry: Published
    folder: Path
    files: Mapping[str, Path]
    missing: tuple[str, ...]
    faults: Mapping[str, str]

    @property
    def whole(self) -> bool:
        """True if the checkpoint is complete and intact."""
        return not self.missing and not self.faults

    @property
    def command(self) -> str:
        """Command that fetches it."""
        return f"vmmetrics weights fetch {self.entry.name}"

    @property
    def complaint(self) -> str:
        """Problem and command that fixes it."""
        return f"{self.problem}; fix it with: {self.command}"

    @property
    def problem(self) -> str:
        """Problem in a sentence or two; "" if there is none."""
        problems = [f"weight file {self.folder / name} {fault}" for name, fault in self.faults.items()]
        if self.missing:
            problems.insert(0, f"{self.entry.name}: {', '.join(self.missing)} not found in {self.folder}")
        return "; ".join(problems)

    @property
    def path(self) -> Path:
        """Path for a loader: the file of a single-file checkpoint, else the folder."""
        only = self.entry.files[0]
        return self.folder / only.path if len(self.entry.files) == 1 and not only.pattern else self.folder


def weights_home() -> Path:
    """Return the folder of fetched weights: ``VMMETRICS_WEIGHTS``, else one in the user's cache."""
    folder = os.environ.get("VMMETRICS_WEIGHTS")
    if folder:
        return Path(folder).expanduser().absolute()
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "vmmetrics" / "weights"


def resolve(names: Iterable[str], home: Path | None = None) -> dict[str, Path]:
    """Return where checkpoints lie, their files checked; never touches the network.

    Args:
        names: Names in the manifest.
        home: Weights folder; None takes :func:`weights_home`.

    Returns:
        By name the file of a single-file checkpoint, else its folder.

    Raises:
        SetupError: No such name; or files are missing, cut off or altered. The text names them, where they were looked
            for, and the command that fetches them all.
    """
    inspections = [inspect(published(name), home) for name in names]
    broken = [inspection for inspection in inspections if not inspection.whole]
    if len(broken) == 1:
        raise SetupError(broken[0].complaint)
    if broken:
        raise SetupError(
            "Weights are missing or damaged:",
            *(f"  {inspection.problem}" for inspection in broken),
            f"fix it with: vmmetrics weights fetch {' '.join(inspection.entry.name for inspection in broken)}",
        )
    return {inspection.entry.name: inspection.path for inspection in inspections}


def inspect(entry: Published, home: Path | None = None, effort: Effort = "changed") -> Inspection:
    """Inspect the files of a checkpoint, and record the hashes of new ones.

    Args:
        entry: The checkpoint.
        home: Weights folder; None takes :func:`weights_home`.
        effort: What is hashed.

    Raises:
        SetupError: A file cannot be read.
    """
    folder = (home or weights_home()) / entry.name
    recorded, listed = read_lock(folder)
    names, missing = _needed(entry, folder, {*recorded, *listed})
    files, faults, records = {}, {}, dict(recorded)
    try:
        for name in names:
            fault, record = _check(folder / name, entry.described(name), recorded.get(name), effort)
            if fault:
                faults[name] = fault
            else:
                files[name] = folder / name
            if record is not None:
                records[name] = record
    except OSError as error:
        raise cannot("read", error.filename or folder, error) from error
    if records != recorded:
        with contextlib.suppress(SetupError):  # where nothing can be recorded, everything is hashed at every start
            _write_lock(entry, folder, records, listed)
    return Inspection(entry, folder, files, tuple(missing), faults)


def read_lock(folder: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Return the records of a checkpoint's files by name, and the names that the publisher listed.

    Both are empty where there is no (readable) record.
    """
    try:
        lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
        files = {
            name: {"bytes": int(f["bytes"]), "mtime_ns": int(f["mtime_ns"]), "sha256": str(f["sha256"])}
            for name, f in lock["files"].items()
            if is_inside(name)
        }
        return files, [name for name in lock.get("listed", ()) if is_inside(name)]
    except web.MALFORMED:
        return {}, []


def record(
    entry: Published, home: Path, hashes: Mapping[str, str] | None = None, listed: Iterable[str] | None = None
) -> None:
    """Record the hashes of files that have just been put in place, or which files the publisher has.

    The latter shows that an interrupted fetch is not complete.
    """
    folder = home / entry.name
    files, before = read_lock(folder)
    files |= {name: _record(folder / name, sha256) for name, sha256 in (hashes or {}).items()}
    _write_lock(entry, folder, files, before if listed is None else listed)


def differs(sha256: str, entry: PublishedFile | None, recorded: Mapping[str, Any] | None) -> str | None:
    """Return how a hash differs from the published and the recorded one, or None."""
    if entry is not None and entry.sha256 is not None and not sha256.startswith(entry.sha256):
        published = f"{entry.sha256[:16]}… is published"
        return f"has SHA-256 {sha256[:16]}… but {published}: it is cut off, altered or another file"
    if recorded is not None and sha256 != recorded["sha256"]:
        return (
            f"has SHA-256 {sha256[:16]}… but had {recorded['sha256'][:16]}… when it was first fetched: it was altered"
        )
    return None


def _needed(entry: Published, folder: Path, recorded: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the names of the files that are there and belong to the checkpoint, and of those that are not there."""
    present = []
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)  # not our record, not on its way, not another program's bookkeeping
        bookkeeping = (
            path.name == LOCK or PARTIAL in path.suffixes or any(part.startswith(".") for part in inside.parts)
        )
        if path.is_file() and not bookkeeping:
            present.append(inside.as_posix())
    needed, missing = set(), set()
    for file in entry.files:
        names = [name for name in present if file.matches(name)]
        needed.update(names)
        if not names and not file.optional:
            missing.add(file.path)
    for index in [name for name in present if name.endswith(".index.json") and name in needed]:
        try:  # the files among which it says the weights are shared
            shards = set(json.loads((folder / index).read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            continue  # its own form is found at fault
        needed |= {(Path(index).parent / name).as_posix() for name in shards if is_inside(name)}
    for name in recorded:
        if (described := entry.described(name)) is not None and not described.optional:
            needed.add(name)
    missing |= needed - set(present)
    return sorted(needed.intersection(present)), sorted(missing)


def _check(
    path: Path, entry: PublishedFile | None, recorded: Mapping[str, Any] | None, effort: Effort
) -> tuple[str | None, dict[str, Any] | None]:
    """Return a file's fault or None, and its new record or None."""
    status = path.stat()
    for size in (entry and entry.bytes, recorded and recorded["bytes"]):
        if size is not None and status.st_size != size:
            return f"has {status.st_size} bytes but {size} were expected: it is cut off or another file", None
    same = recorded is not None and recorded["mtime_ns"] == status.st_mtime_ns
    if recorded is not None and (effort == "sizes" or (same and effort == "changed")):
        return differs(recorded["sha256"], entry, None), None
    fault = fault_of(path)
    if fault or effort == "sizes":
        return fault, None
    sha256 = sha256_of(path)
    fault = differs(sha256, entry, recorded)
    if fault:
        return fault, {**recorded, "mtime_ns": _DOUBTFUL} if recorded else None
    return None, _record(path, sha256)


def _record(path: Path, sha256: str) -> dict[str, Any]:
    status = path.stat()
    return {"bytes": status.st_size, "mtime_ns": status.st_mtime_ns, "sha256": sha256}


def _write_lock(entry: Published, folder: Path, files: Mapping[str, Any], listed: Iterable[str]) -> None:
    lock = {"format": 1, "name": entry.name, "source": entry.source, "listed": sorted(listed), "files": dict(files)}
    write_json(folder / LOCK, lock)
