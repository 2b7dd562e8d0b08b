"""Job folders: used by one process at a time, always with the configuration they were begun with."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from vmmetrics.errors import SetupError, refusing
from vmmetrics.utils.schema import check, read_json
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.journal import Journal, Line
from vmmetrics.utils.storage.lock import ByteLocks, Locked
from vmmetrics.utils.storage.provenance import differences

T = TypeVar("T")


class ExclusiveFolder(Locked):
    """An exclusive folder, opened to start a job or to resume one. Each kind of folder is a subclass.

    Args:
        path: Made if absent.
        configuration: What its content depends on, ready for JSON.

    Attributes:
        path: The folder.
        record: Content of the file with its configuration.
        warnings: Texts on damaged lines.

    Raises:
        SetupError: Another process is at work there, it was begun with another configuration or holds other files, or
            cannot be written.
    """

    HOLDS: ClassVar[str]
    """Text on its content ("questions")."""
    RECORD: ClassVar[str]
    """Name of the file that says with what."""
    LOCK: ClassVar[str]
    """Name of the file that is locked."""
    FORMAT: ClassVar[int] = 1
    """Version of the layout, in the record."""

    def __init__(self, path: Path, configuration: Mapping[str, Any]) -> None:
        self.path = path
        self.warnings: list[str] = []
        prepare(path, self.RECORD, (self.LOCK, "replies"), self.HOLDS)
        with refusing("write", f"{self.HOLDS} to {path}"):
            self._locks = ByteLocks(path / self.LOCK)
        try:
            if not self._locks.try_acquire(0):
                raise SetupError(f"Another process is using {path}")
            self.record = self._joined(configuration)
            self._read()
        except BaseException:
            self.close()
            raise

    @classmethod
    def check(cls, path: Path) -> None:
        """Refuse a folder that could not be opened, before what takes long; see :func:`check_folder`."""
        check_folder(path, cls.RECORD, (cls.LOCK, "replies"), cls.HOLDS)

    def _joined(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        current = json.loads(json.dumps(configuration))
        new = not (self.path / self.RECORD).exists()
        record: dict[str, Any] = {"format": self.FORMAT, "configuration": current} if new else self._stored()
        different = differences(current, record["configuration"])
        refuse(different, f"{self.path} was begun with other settings", "use those")
        if self._started(record) or new:
            self._save(record)
        return record

    def _started(self, record: dict[str, Any]) -> bool:  # noqa: ARG002 - for those that note their starts
        """Note this start in the record; return True if anything was noted."""
        return False

    def _stored(self) -> dict[str, Any]:
        """Return the record on disk."""
        path = self.path / self.RECORD
        record = check(dict[str, Any], read_json(path), path)
        check(_Record, record, path)
        if record.get("format") != self.FORMAT:
            raise SetupError(f"{path} was written by another version of vmmetrics (format {self.FORMAT} expected)")
        return record

    def _save(self, record: Mapping[str, Any]) -> None:
        write_json(self.path / self.RECORD, record)

    def _read(self) -> None:
        """Read the content of the folder, once it is locked."""

    def _lines(self, journal: Journal, like: type = Line) -> list[Line]:
        """Return the lines of a journal; an unfinished line is removed, damaged ones are skipped."""
        return self._recovered_lines(journal, lambda: journal.read_new(like))

    def _lines_as(self, journal: Journal, kind: type[T]) -> list[T]:
        """Return :meth:`_lines`, converted."""
        return self._recovered_lines(journal, lambda: journal.read_as(kind))

    def _recovered_lines(self, journal: Journal, read: Callable[[], list[T]]) -> list[T]:
        self.warnings += journal.mend()
        lines = read()
        self.warnings += journal.warnings()
        return lines


@dataclass(frozen=True, slots=True)
class _Record:
    """Fields of every record."""

    configuration: Mapping[str, Any]


def refuse(different: Collection[str], problem: str, instead: str) -> None:
    """Refuse a folder whose configuration differs from the present one.

    Raises:
        SetupError: It does.
    """
    if different:
        advice = f"choose another folder for --out, or {instead}"
        raise SetupError(f"{problem}:", *(f"  {line}" for line in different), advice)


def prepare(path: Path, record: str, early: Collection[str], holds: str) -> None:
    """Make a folder if it is absent; refuse one with unrelated files.

    Args:
        path: The folder.
        record: Name of the file that marks such a folder.
        early: Names of files that may be there without it, of a start that was killed at once; and hidden ones.
        holds: Text on its content.

    Raises:
        SetupError: It holds other files, or cannot be written.
    """
    with refusing("write", f"{holds} to {path}"):
        path.mkdir(parents=True, exist_ok=True)
        _refuse_others(path, record, early, holds)


def check_folder(path: Path, record: str = "", early: Collection[str] = (), holds: str = "files") -> None:
    """Refuse, before models are loaded, a folder that :func:`prepare` would refuse or that takes no file.

    Nothing is left there: a folder that is absent is not made, but one that is there or will hold it is written to.

    Args:
        path: The folder.
        record: As for :func:`prepare`; empty where other files may lie there.
        early: As for :func:`prepare`.
        holds: Text on its content.

    Raises:
        SetupError: It holds other files, or cannot be written.
    """
    with refusing("write", f"{holds} to {path}"):
        if record and path.exists():
            _refuse_others(path, record, early, holds)
        existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
        with tempfile.TemporaryFile(dir=existing, prefix=".vmmetrics-") as file:  # hidden, should it stay after a kill
            file.write(bytes(_TRIAL_BYTES))


def check_new(path: Path) -> None:
    """Refuse a path that is a file, or a folder with anything in it.

    Raises:
        SetupError: It is.
    """
    if path.is_file():
        raise SetupError(f"{path} is a file; choose an empty or new folder")
    if path.exists() and any(path.iterdir()):
        raise SetupError(f"{path} holds other files; choose an empty or new folder")


_TRIAL_BYTES = 4096  # a block: less may find room where nothing else does


def _refuse_others(path: Path, record: str, early: Collection[str], holds: str) -> None:
    others = [file for file in path.iterdir() if file.name not in early and not file.name.startswith(".")]
    if others and not (path / record).exists():
        raise SetupError(f"{path} holds other files and no {holds}; choose an empty or new folder for --out")
