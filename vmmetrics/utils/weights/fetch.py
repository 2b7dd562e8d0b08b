"""Fetching weights: what is lacking, whether it may be and fits, and each file checked before it gets its name."""

from __future__ import annotations

import lzma
import math
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.errors import SetupError, cannot
from vmmetrics.utils import web
from vmmetrics.utils.storage.lock import ByteLocks
from vmmetrics.utils.weights.download import Progress, discard, download
from vmmetrics.utils.weights.folder import (
    PARTIAL,
    Inspection,
    differs,
    fault_of,
    hash_of,
    inspect,
    read_lock,
    record,
    record_listing,
    weights_home,
)
from vmmetrics.utils.weights.manifest import Published, PublishedFile, select
from vmmetrics.utils.weights.sources import Remote, addresses, archive_name, find_copies, is_offline, list_remote

SPARE = 1.02
"""Times what is fetched must be free: blocks, records, and sizes known only about."""
_BLOCK = 1 << 20
_UNSTATED = 1 << 26  # bytes that a file without a published size may have: configurations, vocabularies
_PAGE = 1 << 20  # bytes beyond its size that are taken of a file, to see that it is a login page
_GUARD = ".fetch.lock"
_BAD_ARCHIVE = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, ValueError, LookupError, ArithmeticError,
    RuntimeError,  # encrypted, or compressed in a way that is not known
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FetchListener:
    """Whom to tell.

    Attributes:
        say: Something worth a line.
        agree: Asked with a notice whether the user agrees to it.
        progress: Makes, for a checkpoint and a file of it, what is told the bytes done.
    """

    say: Callable[[str], None]
    agree: Callable[[Published], bool]
    progress: Callable[[str, str], Progress]


def fetch(
    names: Iterable[str],
    listener: FetchListener,
    *,
    home: Path | None = None,
    mirror: str | None = None,
    copies: Path | None = None,
    offline: bool = False,
) -> list[Inspection]:
    """Bring checkpoints into the weights folder; what is there and whole is left alone.

    Args:
        names: Checkpoints and sets.
        listener: Told what happens, and asked about licences.
        home: Weights folder; None takes :func:`~vmmetrics.utils.weights.folder.weights_home`.
        mirror: Address of a weights folder that a web server gives away, to be asked instead of the publishers.
        copies: Folder with copies to be taken instead.
        offline: Never touch the network; so do ``VMMETRICS_OFFLINE`` and ``HF_HUB_OFFLINE``.

    Returns:
        What there is now of each.

    Raises:
        SetupError: Unknown name, licence not agreed to, no room, nothing there, or not what was published. What has
            arrived whole stays.
    """
    home = home or weights_home()
    entries = select(names)
    lacking = [found for entry in entries if not (found := inspect(entry, home)).whole]
    if lacking and copies is None and (offline or is_offline()):
        raise SetupError(*directions(lacking))
    _ask_about_licences([found.entry for found in lacking], listener)
    try:
        if copies is not None:
            _copy_all(lacking, copies, home, listener, alone=len(entries) == 1)
        elif lacking:
            _download_all(lacking, home, mirror, listener)
    except OSError as error:
        raise cannot("write", error.filename or home, error) from error
    now = [inspect(entry, home) for entry in entries]
    broken = [found for found in now if not found.whole]
    if broken:
        raise SetupError(*(f"{found.problem}; mend it with: {found.command}" for found in broken))
    return now


def directions(lacking: Iterable[Inspection]) -> list[str]:
    """Say what is missing, where it is to be had and where it belongs, for a machine without network."""
    lines = ["Nothing is fetched while offline. What is missing, and where to put it:"]
    for found in lacking:
        entry = found.entry
        lines += [f"  {entry.name}, from {', '.join(addresses(entry))}"]
        lines += [f"    {found.folder / name}" for name in [*found.missing, *found.faults]]
        lines += [f"    (in the archive as {f.member})" for f in entry.files if f.member]
    lines.append("Or, with copies in a folder: vmmetrics weights fetch NAME --from FOLDER")
    return lines


def _ask_about_licences(entries: list[Published], listener: FetchListener) -> None:
    """Every notice once, before anything is fetched."""
    for entry in entries:
        if entry.notice and not entry.must_accept:
            listener.say(f"{entry.name}: {entry.notice}")
    refused = [entry for entry in entries if entry.must_accept and not listener.agree(entry)]
    if refused:
        notices = " ".join(entry.notice or entry.licence for entry in refused)
        raise SetupError(
            f"{', '.join(e.name for e in refused)}: {notices} Nothing was fetched. If you agree, add --accept-licence"
        )


def _download_all(lacking: list[Inspection], home: Path, mirror: str | None, listener: FetchListener) -> None:
    lists, plan = [], []
    for found in lacking:
        remotes = list_remote(found.entry, mirror)
        lists.append((found.entry, [remote.path for remote in remotes]))
        lacked = [remote for remote in remotes if remote.path not in found.files]
        plan += [(found.entry, remote) for remote in sorted(lacked, key=lambda r: r.bytes or math.inf)]
    check_room(home, sum(_still_to_come(home, entry, remote) for entry, remote in plan))
    for entry, names in lists:
        (home / entry.name).mkdir(parents=True, exist_ok=True)
        record_listing(entry, home, names)
    for entry, remote in plan:
        with _alone_in(home / entry.name, entry, listener):
            if remote.path not in inspect(entry, home).files:  # nobody else has brought it meanwhile
                _bring(entry, remote, home, listener)


@contextmanager
def _alone_in(folder: Path, entry: Published, listener: FetchListener) -> Iterator[None]:
    """Wait until no other process fetches the same checkpoint, and keep others waiting."""
    with closing(ByteLocks(folder / _GUARD)) as guard:
        if guard.try_acquire(0):
            guard.release(0)
        else:
            listener.say(f"{entry.name}: another process is fetching it; waiting")
        with guard.holding(0):
            yield


def _bring(entry: Published, remote: Remote, home: Path, listener: FetchListener) -> None:
    """Download one file, check it, and give it its name."""
    target = home / entry.name / remote.path
    target.parent.mkdir(parents=True, exist_ok=True)
    arrived = target if remote.member is None else target.with_name(remote.url.rpartition("/")[2])
    described = entry.described(remote.path)
    most = _most(described) if remote.member is None else 2 * _most(described)  # other members are small
    if remote.bytes is not None and (described is None or described.bytes is None):
        most = remote.bytes
    progress = listener.progress(entry.name, remote.path)
    part = download(remote.url, arrived, remote.headers, progress, most + _PAGE)
    try:
        whole = part if remote.member is None else _extract(part, remote.member, target, _most(described))
        sha256 = _settle(entry, remote.path, whole, home, remote.sha256, f"{remote.url} gave a file that")
    except SetupError:
        discard(part)
        raise
    discard(part)
    listener.say(f"{entry.name}: {remote.path}, SHA-256 {sha256}")


def _settle(entry: Published, path: str, whole: Path, home: Path, expected: str | None, who: str) -> str:
    """Check a file that has arrived whole, put it in its place and record its hash.

    Raises:
        SetupError: It is not what was published, or what came the first time.
    """
    described = entry.described(path)
    fault = fault_of(whole, path)
    sha256 = hash_of(whole)
    size = whole.stat().st_size
    if fault is None and described is not None and described.bytes not in (None, size):
        fault = f"has {size} bytes but {described.bytes} were expected"
    if fault is None and expected is not None and sha256 != expected:
        fault = f"has SHA-256 {sha256[:16]}… but the server announced {expected[:16]}…"
    fault = fault or differs(sha256, described, read_lock(home / entry.name).get(path))
    if fault is not None:
        whole.unlink(missing_ok=True)
        raise SetupError(f"{entry.name}: {path}: {who} {fault}. It was not kept")
    target = home / entry.name / path
    whole.replace(target)
    record(entry, home, path, sha256)
    return sha256


def _most(described: PublishedFile | None) -> int:
    """Bytes that a file may have by what is published of it."""
    if described is not None and described.bytes is not None:
        return described.bytes
    return _UNSTATED + 2 * ((described and described.about) or 0)


def _extract(archive: Path, member: str, target: Path, most: int) -> Path:
    """Take one file of at most ``most`` bytes out of an archive, whatever folder it lies in."""
    out = target.with_name(target.name + PARTIAL)
    name = archive.name.removesuffix(PARTIAL)
    try:
        with zipfile.ZipFile(archive) as bundle:
            members = [info for info in bundle.infolist() if info.filename.rpartition("/")[2] == member]
            if len(members) != 1:
                raise SetupError(f"{name}: expected one {member} in the archive, found {len(members)}")
            if members[0].file_size > most:  # nor does more come out of it
                raise SetupError(f"{name}: expected {most} bytes of {member} at most but got {members[0].file_size}")
            with bundle.open(members[0]) as source, out.open("wb") as file:
                shutil.copyfileobj(source, file, _BLOCK)
    except _BAD_ARCHIVE as error:
        out.unlink(missing_ok=True)
        raise SetupError(f"{name}: what arrived is no archive that can be read: {web.reason(error)}") from error
    return out


def _copy_all(lacking: list[Inspection], copies: Path, home: Path, listener: FetchListener, *, alone: bool) -> None:
    if not copies.is_dir():
        raise SetupError(f"{copies} is no folder")
    plan: list[tuple[Published, str, Path]] = []
    for found in lacking:
        files = find_copies(found.entry, copies, alone=alone)
        plan += [(found.entry, name, path) for name, path in files.items() if name not in found.files]
    check_room(home, sum(path.stat().st_size for _, _, path in plan))
    for entry, name, path in plan:
        target = home / entry.name / name
        target.parent.mkdir(parents=True, exist_ok=True)
        archived = next((f for f in entry.files if f.member and archive_name(f) == path.name), None)
        if archived is not None and archived.member is not None:
            whole = _extract(path, archived.member, target, _most(archived))
        else:
            whole = Path(shutil.copyfile(path, target.with_name(target.name + PARTIAL)))
        sha256 = _settle(entry, name, whole, home, None, f"{path}")
        listener.say(f"{entry.name}: {name}, SHA-256 {sha256}")


def check_room(home: Path, needed: int) -> None:
    """Make sure that the disk holds what is to come.

    Raises:
        SetupError: It does not; the text says how much is missing.
    """
    there = next(place for place in (home, *home.parents) if place.exists())
    free = shutil.disk_usage(there).free
    needed = int(needed * SPARE)
    if free < needed:
        raise SetupError(
            f"The weights need {gigabytes(needed)} but {home} has {gigabytes(free)} left: {gigabytes(needed - free)} "
            "short. Make room, or set VMMETRICS_WEIGHTS to a folder on another disk"
        )


def gigabytes(size: int) -> str:
    """A size for people.

    >>> gigabytes(16_400_000_000), gigabytes(54_330_655)
    ('16.4 GB', '54.3 MB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"


def _still_to_come(home: Path, entry: Published, remote: Remote) -> int:
    target = home / entry.name / remote.path
    part = target.with_name(target.name + PARTIAL)
    described = entry.described(remote.path)
    about = described.bytes or described.about or 0 if described is not None and not described.pattern else 0
    size = remote.bytes or about
    if remote.member is not None:
        size += about  # the archive and what is taken out of it
    return max(0, size - (part.stat().st_size if part.exists() else 0))
