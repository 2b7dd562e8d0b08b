"""Fetching of weights: licences, disk space, downloads and integrity checks."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.errors import SetupError, cannot
from vmmetrics.utils.storage.lock import ByteLocks
from vmmetrics.utils.tables import sha256_of
from vmmetrics.utils.weights import folder
from vmmetrics.utils.weights.download import Progress, discard, download
from vmmetrics.utils.weights.folder import PARTIAL, Inspection, inspect, record
from vmmetrics.utils.weights.manifest import Published, select
from vmmetrics.utils.weights.sources import Remote, addresses, find_copies, is_offline, list_remote

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
    check_room(home, sum(_still_to_come(home / entry.name / remote.path, remote) for entry, remote in plan))
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


def _still_to_come(target: Path, remote: Remote) -> int:
    part = target.with_name(target.name + PARTIAL)
    size = remote.bytes or (0 if remote.file.pattern else remote.file.size)
    return max(0, size - (part.stat().st_size if part.exists() else 0))


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
