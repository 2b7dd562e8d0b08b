"""Fetching of weights from the publisher, a mirror or a copied folder: licences, disk space and integrity checks."""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vmmetrics.errors import SetupError, cannot, install
from vmmetrics.utils import web
from vmmetrics.utils.storage.lock import ByteLocks
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.weights import folder
from vmmetrics.utils.weights.download import Progress, discard, download, get
from vmmetrics.utils.weights.folder import LOCK, PARTIAL, Inspection, inspect, record
from vmmetrics.utils.weights.manifest import Published, PublishedFile, is_inside, select

_LARGEST_FILE = 10**13  # bytes of a file that a listing may state: a hundred times the largest checkpoint
_LARGEST_LISTING = 10_000_000  # bytes; a checkpoint has tens of files of a hundred bytes each


@dataclass(frozen=True, slots=True)
class Remote:
    """One file that can be fetched.

    Attributes:
        path: Name below the checkpoint's folder.
        url: Address, or path of a copy.
        file: Its entry in the manifest.
        bytes: Size by publisher or server, or None.
        sha256: Hash stated by the server, or None.
        headers: Headers of the request.
    """

    path: str
    url: str
    file: PublishedFile
    bytes: int | None = None
    sha256: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def is_offline() -> bool:
    """Return True if ``VMMETRICS_OFFLINE`` or ``HF_HUB_OFFLINE`` forbids network access."""
    values = (os.environ.get(name, "").strip().lower() for name in ("VMMETRICS_OFFLINE", "HF_HUB_OFFLINE"))
    return any(value not in ("", "0", "false", "no", "off") for value in values)


def list_remote(entry: Published, mirror: str | None = None) -> list[Remote]:
    """List the files of a checkpoint at its source.

    Args:
        entry: The checkpoint.
        mirror: Address of a weights folder that a web server gives away; None asks the publisher.

    Raises:
        SetupError: The server refuses, cannot be reached, or lacks a file.
    """
    if mirror is not None:
        remotes = _of_mirror(entry, mirror.rstrip("/"))
    elif entry.hub is not None:
        remotes = _of_hub(entry, entry.hub)
    else:
        remotes = [Remote(f.path, f.url or "", f, f.bytes) for f in entry.files]
    for file in entry.files:
        if not file.optional and not any(file.matches(remote.path) for remote in remotes):
            raise SetupError(f"{entry.name}: {mirror or entry.source} has no file {file.path}")
    return remotes


def addresses(entry: Published) -> list[str]:
    """Return the web pages from which the files can be downloaded with a browser."""
    if entry.hub is not None:
        return [f"{_hub()}/{entry.hub}/tree/{entry.revision}"]
    return [file.url for file in entry.files if file.url]


def _hub() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def _of_hub(entry: Published, repository: str) -> list[Remote]:
    """Read the hub's listing; huggingface_hub, which knows the user's token, would wait for it without a bound."""
    try:
        from huggingface_hub import hf_hub_url
        from huggingface_hub.utils import build_hf_headers
    except ImportError as error:
        raise SetupError(
            f"{entry.name} lies on the Hugging Face hub, which needs {error.name}: {install('vmbench')}"
        ) from error
    headers = build_hf_headers(library_name="vmmetrics")
    address = f"{_hub()}/api/models/{repository}/revision/{quote(entry.revision, safe='')}"
    try:
        listing = get(f"{address}?blobs=true", _LARGEST_LISTING, headers)
    except SetupError as error:
        raise SetupError(f"{entry.source}: cannot be listed on {_hub()}: {error}") from error
    try:
        reply = json.loads(listing)
        commit = str(reply.get("sha") or entry.revision)
        return [
            Remote(
                file["rfilename"],
                hf_hub_url(repository, file["rfilename"], revision=commit, endpoint=_hub()),
                described,
                web.count(file.get("size"), _LARGEST_FILE),
                str(file["lfs"]["sha256"]) if file.get("lfs") else None,
                headers=headers,
            )
            for file in reply["siblings"]
            if is_inside(file["rfilename"]) and (described := entry.described(file["rfilename"]))
        ]
    except web.MALFORMED as error:
        raise SetupError(f"{address}: not a listing of the Hugging Face hub: {web.reason(error)}") from error


def _of_mirror(entry: Published, mirror: str) -> list[Remote]:
    """List the files of a mirror from the record beside them; single files need none."""
    base = f"{mirror}/{entry.name}"
    if not any(file.pattern for file in entry.files):
        return [Remote(f.path, f"{base}/{f.path}", f, f.bytes) for f in entry.files if not f.optional]
    try:
        files: dict[str, Any] = json.loads(get(f"{base}/{LOCK}", _LARGEST_LISTING))["files"]
        remotes = [
            Remote(name, f"{base}/{name}", described, web.count(f["bytes"], _LARGEST_FILE), str(f["sha256"]))
            for name, f in files.items()
            if is_inside(name) and (described := entry.described(name))
        ]
    except web.MALFORMED as error:
        raise SetupError(f"{base}/{LOCK}: not a record of a weights folder: {web.reason(error)}") from error
    for remote in remotes:
        if remote.bytes is None:
            raise SetupError(f"{base}/{LOCK}: not a record of a weights folder: {remote.path} has no size")
    return remotes


def find_copies(entry: Published, folder: Path, *, alone: bool) -> list[Remote]:
    """Search a local folder for copies of a checkpoint's files.

    Known are: a weights folder, the publisher's own folder, the hub's cache, and the folder of one checkpoint. Files
    are taken from one folder only, since names like ``config.json`` are common.

    Args:
        entry: The checkpoint.
        folder: Folder to search.
        alone: Allow that the folder itself is the checkpoint's.

    Returns:
        The copies of the folder that has the most.
    """
    folders = [folder / entry.name]
    if entry.hub is not None:
        organisation, _, repository = entry.hub.partition("/")
        cache = folder / f"models--{organisation}--{repository}" / "snapshots"
        newest = sorted(cache.glob("*"), key=lambda p: p.stat().st_mtime, reverse=True)
        folders += [folder / entry.hub, folder / repository, cache / entry.revision, *newest]
    if alone or len(entry.files) == 1:
        folders.append(folder)
    collected: list[list[Remote]] = []
    for top in folders:
        paths = (path for file in entry.files for path in sorted(top.glob(file.path)) if path.is_file())
        copies = {path.relative_to(top).as_posix(): path for path in paths}
        described = ((name, path, entry.described(name)) for name, path in copies.items())
        collected.append([Remote(name, str(path), file) for name, path, file in described if file is not None])
    return max(collected, key=len)


SPARE = 1.02
"""Factor of free space over the size of a download, for blocks, records and approximate sizes."""
_UNSTATED = 1 << 26  # bytes that a file without a published size may have: configurations, vocabularies
_PAGE = 1 << 20  # bytes beyond its size that are taken of a file, to see that it is a login page
_GUARD = ".fetch.lock"


@dataclass(frozen=True, slots=True)
class FetchListener:
    """Callbacks of :func:`fetch`.

    Attributes:
        say: Receives a message for the user.
        agree: Receives a notice; returns True if the user agrees to it.
        progress: Returns a progress callback for a checkpoint and a file of it.
    """

    say: Callable[[str], None]
    agree: Callable[[Published], bool]
    progress: Callable[[str, str], Progress]


def fetch(
    names: Iterable[str],
    listener: FetchListener,
    *,
    mirror: str | None = None,
    copies: Path | None = None,
    offline: bool = False,
) -> list[Inspection]:
    """Fetch checkpoints into the weights folder; complete ones are left alone.

    Args:
        names: Checkpoints and sets.
        listener: Callbacks for messages, licences and progress.
        mirror: Address of a weights folder that a web server gives away, to be asked instead of the publishers.
        copies: Folder with copies to be taken instead.
        offline: Never touch the network; so do ``VMMETRICS_OFFLINE`` and ``HF_HUB_OFFLINE``.

    Returns:
        State of each checkpoint.

    Raises:
        SetupError: Unknown name, licence not agreed to, no room, nothing there, or not what was published. What has
            arrived whole stays.
    """
    home = folder.weights_home()
    entries = select(names)
    incomplete = [inspection for entry in entries if not (inspection := inspect(entry, home)).whole]
    if incomplete and copies is None and (offline or is_offline()):
        raise SetupError(*directions(incomplete))
    _ask_about_licences([inspection.entry for inspection in incomplete], listener)
    try:
        if copies is not None:
            _copy_all(incomplete, copies, home, listener, alone=len(entries) == 1)
        elif incomplete:
            _download_all(incomplete, home, mirror, listener)
    except OSError as error:
        raise cannot("write", error.filename or home, error) from error
    inspections = [inspect(entry, home) for entry in entries]
    broken = [inspection for inspection in inspections if not inspection.whole]
    if broken:
        raise SetupError(*(inspection.complaint for inspection in broken))
    return inspections


def directions(incomplete: Iterable[Inspection]) -> list[str]:
    """Return instructions for a machine without network: missing files, their sources and their folders."""
    lines = ["Nothing is fetched while offline. What is missing, and where to put it:"]
    for inspection in incomplete:
        entry = inspection.entry
        lines += [f"  {entry.name}, from {', '.join(addresses(entry))}"]
        lines += [f"    into {inspection.folder}: {', '.join([*inspection.missing, *inspection.faults])}"]
    lines.append("Or, with copies in a folder: vmmetrics weights fetch NAME --from-folder FOLDER")
    return lines


def _ask_about_licences(entries: list[Published], listener: FetchListener) -> None:
    """Ask about every notice once, before anything is fetched."""
    for entry in entries:
        if entry.notice and not entry.must_accept:
            listener.say(f"{entry.name}: {entry.notice}")
    refused = [entry for entry in entries if entry.must_accept and not listener.agree(entry)]
    if refused:
        notices = " ".join(entry.notice or entry.licence for entry in refused)
        raise SetupError(
            f"{', '.join(e.name for e in refused)}: {notices} Nothing was fetched. If you agree, add --accept-licence"
        )


def _download_all(incomplete: list[Inspection], home: Path, mirror: str | None, listener: FetchListener) -> None:
    listings = [(inspection, list_remote(inspection.entry, mirror)) for inspection in incomplete]
    plan: list[tuple[Published, Remote]] = []
    for inspection, remotes in listings:
        lacked = [remote for remote in remotes if remote.path not in inspection.files]
        plan += [(inspection.entry, remote) for remote in sorted(lacked, key=lambda r: r.bytes or math.inf)]
    left = 0
    for entry, remote in plan:
        part = home / entry.name / f"{remote.path}{PARTIAL}"
        size = remote.bytes or (0 if remote.file.pattern else remote.file.size)
        left += max(0, size - (part.stat().st_size if part.exists() else 0))
    check_room(home, left)
    for inspection, remotes in listings:
        (home / inspection.entry.name).mkdir(parents=True, exist_ok=True)
        record(inspection.entry, home, listed=[remote.path for remote in remotes])
    for entry, remote in plan:
        with closing(ByteLocks(home / entry.name / _GUARD)) as guard:  # one process at a time
            if guard.try_acquire(0):
                guard.release(0)
            else:
                listener.say(f"{entry.name}: another process is fetching it; waiting")
            with guard.holding(0):
                if remote.path not in inspect(entry, home).files:  # nobody else has brought it meanwhile
                    _fetch_file(entry, remote, home, listener)


def _fetch_file(entry: Published, remote: Remote, home: Path, listener: FetchListener) -> None:
    """Download one file, check it, and give it its name."""
    target = home / entry.name / remote.path
    target.parent.mkdir(parents=True, exist_ok=True)
    most = remote.file.bytes or remote.bytes or _UNSTATED + 2 * (remote.file.about or 0)
    progress = listener.progress(entry.name, remote.path)
    part = download(remote.url, target, remote.headers, progress, most + _PAGE)
    try:
        _install(entry, remote, part, home, listener, f"{remote.url} gave a file that")
    except SetupError:
        discard(part)
        raise
    discard(part)


def _install(entry: Published, remote: Remote, download: Path, home: Path, listener: FetchListener, who: str) -> None:
    """Check a complete download, move it to its final path and record its hash.

    Raises:
        SetupError: It is not what was published, or what came the first time.
    """
    fault = folder.fault_of(download, remote.path)
    sha256, size = sha256_of(download), download.stat().st_size
    if fault is None and remote.file.bytes not in (None, size):
        fault = f"has {size} bytes but {remote.file.bytes} were expected"
    if fault is None and remote.sha256 not in (None, sha256):
        fault = f"has SHA-256 {sha256[:16]}… but the server announced {str(remote.sha256)[:16]}…"
    recorded, _ = folder.read_lock(home / entry.name)
    fault = fault or folder.differs(sha256, remote.file, recorded.get(remote.path))
    if fault is not None:
        download.unlink()
        raise SetupError(f"{entry.name}: {remote.path}: {who} {fault}. It was deleted")
    download.replace(home / entry.name / remote.path)
    record(entry, home, {remote.path: sha256})
    listener.say(f"{entry.name}: {remote.path}, SHA-256 {sha256}")


def _copy_all(incomplete: list[Inspection], copies: Path, home: Path, listener: FetchListener, *, alone: bool) -> None:
    if not copies.is_dir():
        raise SetupError(f"{copies} is not a folder; --from-folder names the one with the downloaded files")
    plan: list[tuple[Published, Remote]] = []
    for inspection in incomplete:
        available = find_copies(inspection.entry, copies, alone=alone)
        plan += [(inspection.entry, copy) for copy in available if copy.path not in inspection.files]
    check_room(home, sum(Path(copy.url).stat().st_size for _, copy in plan))
    for entry, copy in plan:
        target = home / entry.name / copy.path
        target.parent.mkdir(parents=True, exist_ok=True)
        copied = Path(shutil.copyfile(copy.url, target.with_name(target.name + PARTIAL)))
        _install(entry, copy, copied, home, listener, copy.url)


def check_room(home: Path, needed: int) -> None:
    """Check that the disk has room for a download.

    Raises:
        SetupError: It does not; the text says how much is missing.
    """
    existing = next(parent for parent in (home, *home.parents) if parent.exists())
    free = shutil.disk_usage(existing).free
    needed = int(needed * SPARE)
    if free < needed:
        raise SetupError(
            f"The weights need {gigabytes(needed)} but {home} has {gigabytes(free)} left: {gigabytes(needed - free)} "
            "short. Make room, or set VMMETRICS_WEIGHTS to a folder on another disk"
        )


def gigabytes(size: int) -> str:
    """Return a size for people.

    >>> gigabytes(16_400_000_000), gigabytes(54_330_655)
    ('16.4 GB', '54.3 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
