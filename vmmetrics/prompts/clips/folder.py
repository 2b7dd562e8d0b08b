"""The folder of clips: who makes which, what was made with what, and the prompts beside them.

``DIR/0001.mp4`` and so on, ``prompts.json``, which scoring reads, and ``generation.jsonl``: a line for each session
(what makes the clips, versions, machine) and one for each clip made or failed. A clip appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, cannot
from vmmetrics.prompts.clips.jobs import Job
from vmmetrics.prompts.files import row_of
from vmmetrics.utils.schema import read_json
from vmmetrics.utils.storage.atomic import write_text
from vmmetrics.utils.storage.journal import Journal, Line, sync_folder
from vmmetrics.utils.storage.lock import CONFIGURATION, JOURNAL, ByteLocks, Locked, claim_byte
from vmmetrics.utils.storage.provenance import differences

JOURNAL_FILE = "generation.jsonl"
PROMPTS_FILE = "prompts.json"
_LOCK_FILE = ".generation.lock"
_MAKING = ".making"
"""Where clips are made; hidden, so that scoring passes it over."""


class ClipFolder(Locked):
    """A folder of clips in the making, shared by every process that opened it.

    Args:
        path: The folder; made if absent.

    Attributes:
        path: The folder.
        newest: Newest line of each clip, by its name.
        warnings: What was found damaged, in words.

    Raises:
        SetupError: It cannot be written, or holds something else.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.newest: dict[str, Line] = {}
        self.warnings: list[str] = []
        self._sessions: list[Line] = []
        self._made: dict[str, Line] = {}  # newest line of each clip that tells of a success
        self._listed: tuple[Job, ...] = ()
        try:
            path.mkdir(parents=True, exist_ok=True)
            others = [file.name for file in path.iterdir() if not file.name.startswith(".")]
            if others and JOURNAL_FILE not in others:
                raise SetupError(f"{path} holds other files ({others[0]}, ...); choose an empty or new folder")
            self._journal = Journal(path / JOURNAL_FILE)
            self._locks = ByteLocks(path / _LOCK_FILE)
        except OSError as error:
            raise cannot("write", f"clips to {path}", error) from error
        self.refresh()

    def check(self, configuration: Mapping[str, Any]) -> None:
        """See whether what is in the folder was made the same way.

        Args:
            configuration: What every clip depends on beside its prompt.

        Raises:
            SetupError: Clips here were made with another configuration.
        """
        self.refresh()
        ours = json.loads(json.dumps(configuration))
        different = [
            line
            for session in self._sessions[:1]  # all of them were held against the first
            for line in differences(ours, session.get("configuration", {}), names=("now", "the folder"))
        ]
        if different:
            raise SetupError(
                f"{self.path} holds clips that were made otherwise:",
                *(f"  {line}" for line in different),
                "choose another folder for --out, or make them as before",
            )

    def join(self, configuration: Mapping[str, Any], session: Mapping[str, Any], jobs: Sequence[Job]) -> None:
        """Record what the clips are made with from now on, and write the prompts beside them.

        Args:
            configuration: As for :meth:`check`.
            session: What to record about this start; empty where nothing is to be made.
            jobs: Every clip that the list will have here, the ones not made now included.

        Raises:
            SetupError: As for :meth:`check`.
        """
        with self._locks.holding(CONFIGURATION):
            self.check(configuration)
            if session:
                self._append({"kind": "session", **session, "configuration": configuration})
            self._listed = tuple(jobs)
            self._write_prompts()

    def refresh(self) -> None:
        """Take in what other processes wrote since."""
        with self._locks.holding(JOURNAL):
            lines = self._journal.read_new(_Line)
        for line in lines:
            if line["kind"] == "session":
                self._sessions.append(line)
            elif "clip" in line:
                self.newest[line["clip"]] = line
                if "error" not in line:
                    self._made[line["clip"]] = line
        self.warnings += self._journal.warnings()

    def made(self, job: Job) -> bool:
        """Whether the clip is there, made from this prompt with this seed."""
        line = self.newest.get(job.clip)
        if line is None or "error" in line or (line.get("prompt"), line.get("seed")) != (job.entry.prompt, job.seed):
            return False
        try:
            return (self.path / job.clip).stat().st_size == line.get("bytes")
        except OSError:
            return False

    def claim(self, job: Job) -> bool:
        """Take a clip in hand, unless another process has; a claim dies with its process."""
        return self._locks.try_acquire(claim_byte(job.clip))

    def release(self, job: Job) -> None:
        """Give a claimed clip back."""
        self._locks.release(claim_byte(job.clip))

    @contextmanager
    def workplace(self, job: Job) -> Iterator[Path]:
        """A folder to make a claimed clip in, gone afterwards; what a killed process left of the clip goes too."""
        making = self.path / _MAKING
        stem = Path(job.clip).stem
        try:
            making.mkdir(exist_ok=True)
            for left in making.glob(f"{stem}.*"):
                shutil.rmtree(left, ignore_errors=True)
            place = Path(tempfile.mkdtemp(prefix=f"{stem}.", dir=making))
        except OSError as error:
            raise cannot("write", making, error) from error
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def put(self, job: Job, made: Path) -> dict[str, Any]:
        """Put a finished clip in its place in one step; its size and hash."""
        with made.open("rb+") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        made.replace(self.path / job.clip)
        sync_folder(self.path)
        return {"sha256": digest, "bytes": (self.path / job.clip).stat().st_size}

    def record(self, line: Mapping[str, Any]) -> None:
        """Keep what came of a clip; where it replaces one of another prompt, its entry beside it is replaced too."""
        before = self._made.get(line["clip"])
        self._append({"kind": "clip", **line})
        self.refresh()
        if before is not None and "error" not in line and before.get("prompt") != line["prompt"]:
            with self._locks.holding(CONFIGURATION):
                self._write_prompts()

    def _append(self, line: Line) -> None:
        with self._locks.holding(JOURNAL):
            self._journal.append([line])

    def _write_prompts(self) -> None:
        """An entry for each clip, its tags and provenance included.

        Those of an earlier list stay as long as their clips do: until a clip is made anew, its prompt is the old one.
        """
        path = self.path / PROMPTS_FILE
        rows = {job.clip: {"clip": job.clip, **row_of(job.entry)} for job in self._listed}
        for row in _rows(path):
            clip = str(row["clip"])
            made_from = self._made.get(clip, {}).get("prompt")
            if (self.path / clip).is_file() and (clip not in rows or made_from not in (None, rows[clip]["prompt"])):
                rows[clip] = row
        lines = [json.dumps(row, ensure_ascii=False) for row in rows.values()]
        write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")


@dataclass(frozen=True, slots=True)
class _Line:
    """Fields of a line of ``generation.jsonl`` that this package reads: those of a session, and those of a clip."""

    kind: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    clip: str = ""
    prompt: str = ""
    seed: int | None = None
    bytes: int = 0
    error: str = ""


def _rows(path: Path) -> list[dict[str, Any]]:
    """Entries of an earlier list; none where it is not ours."""
    try:
        rows = read_json(path)
    except SetupError:
        return []
    return [row for row in rows if isinstance(row, dict) and row.get("clip")] if isinstance(rows, list) else []
