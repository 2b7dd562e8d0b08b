"""A copy of a run directory at an address, kept up while the run grows."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from vmmetrics.errors import SetupError, VMMetricsError, explain
from vmmetrics.scoring.index import EVENTS, SCORES, STATES
from vmmetrics.scoring.pictures import POSTERS
from vmmetrics.utils.storage.addresses import address_of, is_web, safe_name
from vmmetrics.utils.storage.remote import RemoteError, check_address, download, files_below, read_bytes, upload
from vmmetrics.utils.storage.state import FileState

EVERY_SECONDS = 180.0
"""Between two looks at what has changed."""
PIECE_BYTES = 32 * 2**20
"""Most bytes of a piece of a journal."""
_COMPARED = 4096  # bytes of a journal by which its run is known
_PIECES = ".parts"  # what the folder of a journal's pieces is called behind its name
_LOCAL = (".lock", ".log", ".sqlite", ".sqlite-journal", ".sqlite-wal", ".sqlite-shm")  # of this machine alone


class Mirror:
    """Copies what changes in a run directory while a block runs, every few minutes and at its end.

    Journals, which only grow, go up in pieces, ``scores.jsonl.parts/000000000000000``, named by the byte each begins
    with and never written again; other files whole, over the older ones. What fails is tried again next time, and never
    stops the block.

    Args:
        folder: The run directory.
        address: Where to; None for nowhere.
        warn: Is told in words when a copy fails.
        journals: Names of the files that only grow.

    Attributes:
        behind: Why the copy is not complete, None where it is.

    Raises:
        SetupError: The address is none that can be written.
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
        self._copied: dict[str, tuple[int, int]] = {}  # size and time of files
        self._ends: dict[str, int] | None = None  # bytes of each journal that are there
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="mirror", daemon=True)
        if address is None:
            return
        if self._top is None or is_web(self._top) or self._top.startswith("hf://"):
            raise SetupError(f"Expected s3:// or gs:// for --mirror but got {safe_name(self._top or address)}")
        self._top = self._top.rstrip("/")
        check_address(self._top)

    def __enter__(self) -> Self:
        if self._top is not None:
            self._thread.start()
        return self

    def __exit__(self, *how: object) -> None:
        if self._top is not None:
            self._stop.set()
            self._thread.join()
            self.copy()

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_SECONDS):
            self.copy()

    def copy(self) -> None:
        """Copy what has changed; sets :attr:`behind`."""
        before = self.behind
        try:
            self._copy()
            self.behind = None
        except (OSError, VMMetricsError) as error:
            self.behind = str(error) if isinstance(error, RemoteError) else explain(error)
            if self.behind != before:
                self._warn(f"mirror: {self.behind}")

    def _copy(self) -> None:
        if self._ends is None:
            self._ends = self._look()
        for name in self._journals:
            if (self._folder / name).is_file():
                self._copy_journal(name, self._ends)
        for path in sorted(self._folder.rglob("*")):
            name = path.relative_to(self._folder).as_posix()
            if name in self._journals or path.name.startswith(".") or path.name.endswith(_LOCAL) or not path.is_file():
                continue
            stat = path.stat()
            if self._copied.get(name) != (stat.st_size, stat.st_mtime_ns):
                upload(path, f"{self._top}/{name}")
                self._copied[name] = stat.st_size, stat.st_mtime_ns

    def _look(self) -> dict[str, int]:
        """Return how many bytes of each journal are there, and take files that are there as new as here for copied.

        Raises:
            RemoteError: It cannot be told.
            SetupError: The address holds another run.
        """
        ends = dict.fromkeys(self._journals, 0)
        for name, state in _listed(str(self._top)):
            journal, _, start = name.partition(f"{_PIECES}/")
            path = self._folder / name
            if journal in ends and start.isdecimal():
                ends[journal] = max(ends[journal], int(start) + (state.bytes or 0))
            elif path.is_file():
                stat = path.stat()
                if (state.bytes, True) == (stat.st_size, (state.mtime_ns or 0) > stat.st_mtime_ns):
                    self._copied[name] = stat.st_size, stat.st_mtime_ns
        for journal, end in ends.items():
            file = self._folder / journal
            if end and (not file.is_file() or file.stat().st_size < end or not self._same(journal, end)):
                raise SetupError(f"{safe_name(str(self._top))} holds another run; choose another address for --mirror")
        return ends

    def _same(self, journal: str, end: int) -> bool:
        size = min(_COMPARED, end)
        there = read_bytes(f"{self._top}/{_piece(journal, 0)}", size)[:size]
        with (self._folder / journal).open("rb") as file:
            return file.read(len(there)) == there

    def _copy_journal(self, name: str, ends: dict[str, int]) -> None:
        with (self._folder / name).open("rb") as file:
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
    """Bring a run directory back from its copy.

    Args:
        address: Where the copy is.
        folder: Where to; made if absent.

    Raises:
        SetupError: There is none, or it cannot be had.
    """
    top = address.rstrip("/")
    try:
        names = sorted(name for name, _ in _listed(top))
        if "run.json" not in names:
            raise SetupError(f"{safe_name(top)} holds no run: it has no run.json")
        for name in names:
            journal, cut, start = name.partition(f"{_PIECES}/")
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            download(f"{top}/{name}", target, FileState(), lambda _: None)
            if cut and start.isdecimal():
                _append(target, folder / journal, int(start))
    except OSError as error:
        raise SetupError(explain(error) if not isinstance(error, RemoteError) else str(error)) from error


def _append(piece: Path, journal: Path, start: int) -> None:
    with journal.open("ab") as file:
        if file.tell() != start:
            raise SetupError(
                f"A piece of {journal.name} is missing: it goes to {file.tell()}, the next begins at {start}"
            )
        file.write(piece.read_bytes())
    piece.unlink()
    with contextlib.suppress(OSError):  # the last one
        piece.parent.rmdir()


def _listed(top: str) -> list[tuple[str, FileState]]:
    try:
        return list(files_below(top))
    except RemoteError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return []
        raise


def _piece(journal: str, start: int) -> str:
    return f"{journal}{_PIECES}/{start:015d}"
