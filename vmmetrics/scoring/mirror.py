"""Mirror of a run directory at an address, updated while the run grows."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

from vmmetrics.errors import SetupError, VMMetricsError, explain
from vmmetrics.scoring.index import EVENTS, SCORES, STATES
from vmmetrics.scoring.pictures import POSTERS
from vmmetrics.utils.storage.addresses import address_of, safe_name
from vmmetrics.utils.storage.atomic import making
from vmmetrics.utils.storage.opening import open_regular, read_regular
from vmmetrics.utils.storage.remote import RemoteError, check_address, download, files_below, read_bytes, upload
from vmmetrics.utils.storage.state import FileState

EVERY_SECONDS = 180.0
"""Seconds between two copies of what has changed."""
PIECE_BYTES = 32 * 2**20
"""Most bytes of a piece of a journal."""
_STORES = ("s3", "s3a", "gs", "gcs", "memory")  # that can be written; the last is for trying it out
_COMPARED = 4096  # bytes of a journal by which its run is known
_PIECES = ".parts"  # what the folder of a journal's pieces is called behind its name
_SLACK_NS = 600 * 10**9  # by which times of files may be out of order
_LOCAL = (".lock", ".log", ".sqlite", ".sqlite-journal", ".sqlite-wal", ".sqlite-shm")  # of this machine alone


class _Copied(NamedTuple):
    """State of the copy of a folder.

    Attributes:
        newest: Time of its newest file; files older by more than :data:`_SLACK_NS` are copied.
        latest: Size and time of its newer files, and of all files of the run directory itself.
        below: The folders in it.
        seen: Modification time of the folder, which changes when a file is added.
    """

    newest: int
    latest: dict[str, tuple[int, int]]
    below: tuple[str, ...]
    seen: int = 0


class Mirror:
    """Copies changes of a run directory every few minutes while a block runs, and at its end.

    Journals, which only grow, are uploaded in parts, ``scores.jsonl.parts/000000000000000``, named by their first byte
    and never written again; other files whole, over the older ones. A folder in which nothing was put since the
    copy before is skipped until the last. What fails is tried again next time, and never stops the block.

    Args:
        folder: The run directory.
        address: Target; None for none.
        warn: Receives a text when a copy fails.
        journals: Names of the files that only grow.

    Attributes:
        behind: Reason why the copy is not complete, or None.

    Raises:
        SetupError: The address cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        address: str | None,
        warn: Callable[[str], object] = lambda _: None,
        journals: tuple[str, ...] = (SCORES, EVENTS, STATES, POSTERS),
    ) -> None:
        self._folder, self._warn, self._journals = folder, warn, journals
        self._top = None if address is None else address_of(address)
        self.behind: str | None = None
        self._folders: dict[str, _Copied] = {}
        self._ends: dict[str, int] | None = None  # bytes of each journal that are there
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="mirror", daemon=True)
        if address is None:
            return
        if self._top is None or self._top.partition("://")[0] not in _STORES:
            raise SetupError(f"Expected s3:// or gs:// for --mirror but got {safe_name(self._top or address)}")
        self._top = self._top.rstrip("/")
        check_address(self._top)

    def __enter__(self) -> Self:
        """Check that the address holds this run, or none.

        Raises:
            SetupError: It holds another one.
        """
        if self._top is not None:
            self._guarded(self._begin)
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._top is not None:
            self._stop.set()
            self._thread.join()
            self.copy(last=True)

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_SECONDS):
            self.copy()

    def copy(self, *, last: bool = False) -> None:
        """Copy what has changed; sets :attr:`behind`.

        Args:
            last: Check every folder, also those whose modification time has not changed since the last copy.
        """
        try:
            self._guarded(lambda: self._copy(last=last))
        except SetupError as error:
            self._failed(explain(error))

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
            self.behind = None
        except SetupError:
            raise
        except (OSError, VMMetricsError) as error:
            self._failed(str(error) if isinstance(error, RemoteError) else explain(error))

    def _failed(self, reason: str) -> None:
        if reason != self.behind:
            self._warn(f"mirror: {reason}")
        self.behind = reason

    def _begin(self) -> None:
        if self._ends is None:
            self._ends = self._look()

    def _copy(self, *, last: bool) -> None:
        self._begin()
        for name in self._journals:
            if (self._folder / name).is_file():
                self._copy_journal(name, self._ends or {})
        below = [""] if self._folder.is_dir() else []
        while below:  # one folder at a time: there may be a million overlays
            folder = below.pop()
            seen = (self._folder / folder).stat().st_mtime_ns  # before it is looked through
            copied = self._folders.get(folder)
            if last or copied is None or not folder or copied.seen != seen:
                copied = self._folders[folder] = self._copy_folder(folder, copied)._replace(seen=seen)
            below += copied.below

    def _copy_folder(self, folder: str, copied: _Copied | None) -> _Copied:
        """Copy the files of a folder that are newer than what was copied of it."""
        now, newest = time.time_ns(), 0
        if copied is not None and now < copied.newest:
            copied = None  # the clock was set back
        remote_files = dict(_listed(f"{self._top}/{folder}".rstrip("/"), deep=False)) if copied is None else {}
        since = copied.newest - _SLACK_NS if folder and copied else 0
        latest: list[tuple[int, str, tuple[int, int]]] = []
        below: list[str] = []
        with os.scandir(self._folder / folder) as entries:
            for entry in entries:
                name = entry.name
                if (not folder and name in self._journals) or name.startswith(".") or name.endswith(_LOCAL):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    below.append(f"{folder}{name}/")
                if not entry.is_file():
                    continue
                stat = entry.stat()
                written = max(stat.st_mtime_ns, stat.st_ctime_ns)  # what was moved there has its old time
                newest, state = max(newest, min(written, now)), (stat.st_size, stat.st_mtime_ns)
                new = written > since and (copied is None or copied.latest.get(name) != state)
                remote = remote_files.get(name, FileState())
                is_copy = remote.bytes == stat.st_size and (remote.mtime_ns or 0) > stat.st_mtime_ns
                if new and not is_copy:
                    upload(Path(entry.path), f"{self._top}/{folder}{name}")
                if not folder or written > newest - _SLACK_NS:
                    latest.append((written, name, state))
        recent = {name: state for written, name, state in latest if not folder or written > newest - _SLACK_NS}
        return _Copied(newest, recent, tuple(below))

    def _look(self) -> dict[str, int]:
        """Return the bytes of each journal at the address.

        Raises:
            RemoteError: The address cannot be listed.
            SetupError: The address holds another run.
        """
        ends = dict.fromkeys(self._journals, 0)
        for journal in self._journals:
            for start, state in _listed(f"{self._top}/{journal}{_PIECES}", deep=False):
                if start.isdecimal():
                    ends[journal] = max(ends[journal], int(start) + (state.bytes or 0))
        for journal, end in ends.items():
            file = self._folder / journal
            if end and (not file.is_file() or file.stat().st_size < end or not self._same(journal, end)):
                raise SetupError(
                    f"{safe_name(str(self._top))} holds another run; choose another address for --mirror, or restore "
                    "that run and resume it (docs/remote.md)"
                )
        return ends

    def _same(self, journal: str, end: int) -> bool:
        size = min(_COMPARED, end)
        remote = read_bytes(f"{self._top}/{_piece(journal, 0)}", size)[:size]
        with open_regular(self._folder / journal) as file:
            return file.read(len(remote)) == remote

    def _copy_journal(self, name: str, ends: dict[str, int]) -> None:
        with open_regular(self._folder / name) as file:
            while True:
                file.seek(ends[name])
                piece = file.read(PIECE_BYTES)
                if len(piece) == PIECE_BYTES and b"\n" not in piece:
                    piece += file.readline()
                piece = piece[: piece.rfind(b"\n") + 1]  # whole lines alone
                if not piece:
                    return
                try:
                    upload(piece, f"{self._top}/{_piece(name, ends[name])}", once=True)
                    ends[name] += len(piece)
                except FileExistsError:  # another process copies the same run
                    before, ends[name] = ends[name], self._look()[name]
                    if ends[name] == before:
                        return


def restore(address: str, folder: Path) -> None:
    """Restore a run directory from its copy, atomically.

    Args:
        address: Address of the copy.
        folder: Where to; absent or empty.

    Raises:
        SetupError: There is none, it cannot be fetched, or the folder exists.
    """
    top = (address_of(address) or address).rstrip("/")
    folder = folder.absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SetupError(f"{folder} already exists; choose a new folder to restore the run into")
    try:
        if "run.json" not in dict(_listed(top, deep=False)):
            raise SetupError(f"{safe_name(top)} is not a run directory: it has no run.json")
        with making(folder) as building:
            pieces = []
            for name, _ in files_below(top):
                journal, cut, start = name.partition(f"{_PIECES}/")
                if cut and start.isdecimal():
                    pieces.append((journal, int(start), name))
                else:
                    _fetch(f"{top}/{name}", building / name)
            for journal, begin, name in sorted(pieces):
                _fetch(f"{top}/{name}", building / name)
                _append(building / name, building / journal, begin)
    except OSError as error:
        raise SetupError(str(error) if isinstance(error, RemoteError) else explain(error)) from error


def _fetch(uri: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    download(uri, target, FileState(), lambda _: None)


def _append(piece: Path, journal: Path, start: int) -> None:
    with open_regular(journal, "ab") as file:
        if file.tell() != start:
            raise SetupError(f"A part of {journal.name} is missing: bytes {file.tell()} to {start}")
        file.write(read_regular(piece))
    piece.unlink()
    with contextlib.suppress(OSError):  # the last one
        piece.parent.rmdir()


def _listed(top: str, *, deep: bool) -> Iterator[tuple[str, FileState]]:
    """Yield the files at an address; none where there is nothing."""
    try:
        yield from files_below(top, deep=deep)
    except RemoteError as error:
        if not isinstance(error.__cause__, FileNotFoundError):
            raise


def _piece(journal: str, start: int) -> str:
    return f"{journal}{_PIECES}/{start:015d}"
