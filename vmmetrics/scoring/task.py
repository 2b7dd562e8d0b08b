"""Tasks: one clip to score, with its location, prompt and state."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from vmmetrics.clip import Clip, Subject
from vmmetrics.scoring.record import Record, State
from vmmetrics.scoring.settings import Settings
from vmmetrics.types import Tags
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.addresses import safe_name
from vmmetrics.utils.storage.state import FileState
from vmmetrics.video.discover import array_fingerprint, file_state, fingerprint, is_settled, state
from vmmetrics.video.rows import InlineClip


@dataclass(frozen=True, slots=True)
class Task:
    """One clip to score.

    Attributes:
        clip: Its name.
        model: Folder of its model, or None.
        path: Absolute path of its file or folder, or None where it is in memory or at ``uri``.
        metrics: Metrics to score.
        prompt: Text it was generated from, or None.
        prompt_source: Where the prompt was found, or None.
        subject: Subject, or None.
        tags: Tags of the prompt list on the expected motion.
        in_memory: The decoded clip where it was handed in as an array, or the bytes of its file where it is in a data
            set; None where it is read from ``path`` or ``uri``.
        root: Folder that symlinks must not lead out of, or None.
        broken: Why it cannot be scored, where that is known before it is read.
        uri: Its address, where it is not on this machine; with all that opens it, so it is never kept or shown.
        listed: State of the file in a listing.
    """

    clip: str
    model: str | None
    path: Path | None
    metrics: tuple[str, ...]
    prompt: str | None = None
    prompt_source: str | None = None
    subject: Subject | None = None
    tags: Tags = field(default_factory=dict)
    in_memory: Clip | InlineClip | None = None
    root: Path | None = None
    broken: str | None = None
    uri: str | None = None
    listed: FileState | None = None

    @property
    def key(self) -> str:
        """Identifier of the clip within a run: its address or path, else its name."""
        if self.uri is not None:
            return safe_name(self.uri)
        return str(self.path) if self.path is not None else self.clip

    def only(self, metrics: tuple[str, ...]) -> Task:
        """Return this task with fewer metrics."""
        return replace(self, metrics=metrics)

    def record(self, settings: Settings, **fields: Any) -> Record:
        """Return a record of this clip with the given fields."""
        base: dict[str, Any] = {name: getattr(self, name) for name in ("clip", "model", "prompt", "prompt_source")}
        path = None if self.path is None and self.uri is None else self.key
        base |= {"path": path, "subject": self.subject and asdict(self.subject), "sha256": None}
        base |= {"worker": provenance.process(), "ended": provenance.now()}
        return Record(preset=settings.preset, protocol=settings.protocol, tags=dict(self.tags), **base | fields)


def identify(task: Task) -> str:
    """Return SHA-256 of the clip of a task, for a file that is known to be one.

    Raises:
        OSError: It cannot be read.
    """
    if task.path is not None:
        return fingerprint(task.path)
    assert task.in_memory is not None  # noqa: S101  (a task has a path, a clip, or an address, which is not read here)
    if isinstance(task.in_memory, InlineClip):
        return task.in_memory.sha256
    return array_fingerprint(task.in_memory)


def state_of(task: Task) -> tuple[State | None, bool]:
    """Return the file state that a later run compares with, and True if a later change is sure to show in it.

    Raises:
        OSError: The file or folder cannot be read.
    """
    if task.path is None:
        listed = None if task.listed is None else task.listed.to_record()
        return listed, listed is not None
    files = state(task.path)
    return file_state(files), is_settled(files)
