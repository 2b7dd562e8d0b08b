"""Generation jobs of a prompt list, and the folder of their clips, prompts and generation log.

``DIR/0001.mp4`` and so on, ``prompts.json``, which scoring reads, and ``generation.jsonl``: a line for each session
(what makes the clips, versions, machine) and one for each clip made or failed. A clip appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, refusing
from vmmetrics.prompts.entry import CHOICES, PATTERNS, PromptEntry
from vmmetrics.prompts.files import row_of, write_rows
from vmmetrics.utils.schema import check, read_json
from vmmetrics.utils.storage.job_folder import prepare, refuse
from vmmetrics.utils.storage.journal import Journal, Line, sync_folder
from vmmetrics.utils.storage.lock import CONFIGURATION, JOURNAL, ByteLocks, Locked
from vmmetrics.utils.storage.provenance import differences
from vmmetrics.utils.tables import sha256_of
from vmmetrics.video.first_frames import GivenFrame, find_first_frames

# Which clips are to be made: a name and a seed for each sample of each prompt.

_FILE_STEM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
"""Indices that are valid file names on every system, without folders."""
_LARGEST_SEED = 2**31 - 1  # what every generator takes: some hold seeds in signed 32-bit integers


@dataclass(frozen=True, slots=True)
class Job:
    """One clip to make.

    Attributes:
        entry: The prompt, and what is known about it.
        sample: Number of the clip among the prompt's clips, from 1.
        clip: Name of its file.
        seed: For the generator, 0 to 2³¹ − 1.
        first_frame: The picture that the clip is to begin with; None for clips from text alone.
        form: Which of the entry's other wordings the generator gets; empty for the prompt itself.
    """

    entry: PromptEntry
    sample: int
    clip: str
    seed: int
    first_frame: GivenFrame | None = None
    form: str = ""

    @property
    def text(self) -> str:
        """The text that the generator gets."""
        return self.entry.forms[self.form] if self.form else self.entry.prompt

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What the clip is made from besides the settings: prompt, other wording, seed, hash of the first frame."""
        wording = self.text if self.form else None
        return self.entry.prompt, wording, self.seed, self.first_frame and self.first_frame.sha256


@dataclass(frozen=True, slots=True)
class ClipPlan:
    """The clips to generate.

    Attributes:
        jobs: The clips to make now.
        listed: Those of the whole list, for the prompts beside them.
        samples: Clips per prompt.
        seed: Base of every clip's own seed.
        form: Wording of the prompts that the generator gets; empty for the prompts themselves.
    """

    jobs: tuple[Job, ...]
    listed: tuple[Job, ...]
    samples: int = 1
    seed: int = 0
    form: str = ""


def plan_of(
    entries: Sequence[PromptEntry], only: Sequence[str] = (), limit: int | None = None, samples: int = 1, seed: int = 0,
    max_seconds: float | None = None, first_frames: Path | None = None, form: str = "",
) -> ClipPlan:  # fmt: skip
    """Plan the clips of a list.

    Args:
        entries: The list.
        only: Conditions, as for :func:`select`.
        limit: Most prompts of those.
        samples: Clips per prompt.
        seed: Base of every clip's own seed.
        max_seconds: Seconds that the motion of a prompt may take; None for any.
        first_frames: Folder of the pictures that clips are to begin with.
        form: Wording of the prompts that the generator gets.

    Raises:
        ValueError: A condition that cannot be.
        SetupError: As for :func:`jobs_of`; or a prompt has no first frame, or no such wording.
    """
    wanted = select(entries, only)
    if max_seconds is not None:
        wanted = [entry for entry in wanted if entry.tags is None or entry.tags.seconds <= max_seconds]
    chosen = jobs_of(wanted[:limit], samples, seed, form)
    if first_frames is not None:
        frames = find_first_frames(first_frames, dict.fromkeys(job.entry.index for job in chosen))
        chosen = [replace(job, first_frame=frames[job.entry.index]) for job in chosen]
    if form and form not in FORMS:
        raise SetupError(f"Expected a form of {', '.join(FORMS)} but got {form!r}")
    if form and (lacking := [job.entry.index for job in chosen if form not in job.entry.forms]):
        raise SetupError(f"{len(lacking)} prompts have no form {form!r}, the first is {lacking[0]}; core-300 has it")
    return ClipPlan(tuple(chosen), tuple(jobs_of(entries, samples, seed, form)), samples, seed, form)


def jobs_of(entries: Sequence[PromptEntry], samples: int = 1, seed: int = 0, form: str = "") -> list[Job]:
    """Return the jobs of a list: ``0001.mp4``, or ``0001-1.mp4``, ``0001-2.mp4`` for several clips per prompt.

    The first samples of all prompts come before the second ones, so that a run that is cut short has all prompts.

    Args:
        entries: The prompts.
        samples: Clips per prompt.
        seed: Base of every clip's own seed.
        form: Wording of the prompts that the generator gets.

    Raises:
        SetupError: An index cannot name a file, or two clips would have one name.
    """
    jobs = []
    for sample in range(1, samples + 1):
        for entry in entries:
            if not _FILE_STEM.fullmatch(entry.index):
                raise SetupError(f"The index {entry.index!r} cannot name a file; letters, digits, _ . and - can")
            stem = entry.index if samples == 1 else f"{entry.index}-{sample}"
            jobs.append(Job(entry, sample, f"{stem}.mp4", seed_of(seed, entry.index, sample), form=form))
    names = [job.clip.lower() for job in jobs]  # some file systems do not tell cases apart
    twice = sorted(name for name, number in Counter(names).items() if number > 1)
    if twice:
        raise SetupError(f"Two prompts would be written to {twice[0]}; give every prompt a unique index")
    return jobs


def seed_of(seed: int, index: str, sample: int) -> int:
    """Return the seed of a clip: independent of machine and order, and different for each clip."""
    digest = hashlib.sha256(f"{seed}:{index}:{sample}".encode()).digest()
    return int.from_bytes(digest[:8], "big") & _LARGEST_SEED


def select(entries: Sequence[PromptEntry], only: Sequence[str]) -> list[PromptEntry]:
    """Return the entries that meet the conditions: any of those on one field, all fields.

    Args:
        entries: The list.
        only: ``name=value`` with a tag, ``index``, ``subject_noun`` or ``subject_class``, or just a motion pattern.

    Raises:
        ValueError: A condition on something else.
    """
    criteria: dict[str, set[str]] = {}
    for text in only:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            name, value = "pattern", name
        if name not in _FIELDS:
            raise ValueError(f"expected a pattern or NAME=VALUE with one of {', '.join(_FIELDS)} but got {text!r}")
        if name == "pattern" and value.lower() not in PATTERNS:
            raise ValueError(f"expected a pattern of {', '.join(PATTERNS)} but got {value!r}")
        criteria.setdefault(name, set()).add(value.lower())

    def value_of(entry: PromptEntry, name: str) -> str:
        return str(getattr(entry.tags if name in CHOICES else entry, name, "")).lower()

    return [entry for entry in entries if all(value_of(entry, name) in criteria[name] for name in criteria)]


_FIELDS = ("pattern", "index", "subject_noun", "subject_class", *CHOICES)


_INPUTS = ("prompt", "wording", "seed", "first_frame")  # fields of a line that a clip is made from
FORMS = ("long", "chinese")
"""Other wordings that a generator may get."""
JOURNAL_FILE = "generation.jsonl"
PROMPTS_FILE = "prompts.json"
_MAKING = ".making"
"""Hidden folder of clips being generated, which scoring ignores."""


class ClipFolder(Locked):
    """A folder of generated clips, shared by every process that opened it.

    Args:
        path: The folder; made if absent.

    Attributes:
        path: The folder.
        newest: Newest line of each clip, by its name.
        warnings: Warnings about damaged lines.

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
        prepare(path, JOURNAL_FILE, (), "clips")
        self._journal = Journal(path / JOURNAL_FILE)
        with refusing("write", f"clips to {path}"):
            self._locks = ByteLocks(path / ".generation.lock")
        self.refresh()

    def check(self, configuration: Mapping[str, Any]) -> None:
        """Check that existing clips were made with the same settings.

        Args:
            configuration: What every clip depends on besides its prompt.

        Raises:
            SetupError: Clips here were made with another configuration.
        """
        self.refresh()
        if not self._sessions:
            return
        first = self._sessions[0].get("configuration", {})  # all others were compared with it
        different = differences(json.loads(json.dumps(configuration)), first, names=("now", "the folder"))
        refuse(different, f"{self.path} holds clips made with other settings", "use the same settings")

    def join(self, configuration: Mapping[str, Any], session: Mapping[str, Any], jobs: Sequence[Job]) -> None:
        """Record the settings of this session, and write the prompts next to the clips.

        Args:
            configuration: As for :meth:`check`.
            session: Record of this session; empty if nothing is to be made.
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
        """Read what other processes wrote since."""
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
        """Return True if the clip exists and was made from this prompt with this seed."""
        line = self.newest.get(job.clip, {})
        if "error" in line or tuple(map(line.get, _INPUTS)) != job.inputs:
            return False
        try:
            return (self.path / job.clip).stat().st_size == line.get("bytes")
        except OSError:
            return False

    @contextmanager
    def workplace(self, job: Job) -> Iterator[Path]:
        """Create a temporary folder for a claimed clip; it and remains of killed processes are removed afterwards."""
        making = self.path / _MAKING
        stem = Path(job.clip).stem
        with refusing("write", making):
            making.mkdir(exist_ok=True)
            for left in making.glob(f"{stem}.*"):
                shutil.rmtree(left, ignore_errors=True)
            directory = Path(tempfile.mkdtemp(prefix=f"{stem}.", dir=making))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def put(self, job: Job, clip: Path) -> dict[str, Any]:
        """Move a finished clip into the folder atomically, and return its size and hash."""
        digest = sha256_of(clip)
        with clip.open("rb+") as file:
            os.fsync(file.fileno())
        clip.replace(self.path / job.clip)
        sync_folder(self.path)
        return {"sha256": digest, "bytes": (self.path / job.clip).stat().st_size}

    def record(self, line: Mapping[str, Any]) -> None:
        """Record the outcome of a clip; a clip that replaces another prompt's updates the prompts too."""
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
        """Write an entry for each clip, with tags and provenance.

        Those of an earlier list stay as long as their clips do: until a clip is made again, its prompt is the old one.
        """
        path = self.path / PROMPTS_FILE
        rows = {job.clip: {"clip": job.clip, **row_of(job.entry)} for job in self._listed}
        for job in self._listed:
            if job.form:
                rows[job.clip]["tags"] = {**rows[job.clip].get("tags", {}), "form": job.form}
        earlier: list[Any] = []
        with suppress(SetupError):  # none, or not ours
            earlier = check(list[Any], read_json(path), path)
        for row in earlier:
            clip = str(row.get("clip") or "") if isinstance(row, dict) else ""
            made_from = self._made.get(clip, {}).get("prompt")
            if (self.path / clip).is_file() and (clip not in rows or made_from not in (None, rows[clip]["prompt"])):
                rows[clip] = row
        write_rows(path, rows.values())


@dataclass(frozen=True, slots=True)
class _Line:
    """Fields of a line of ``generation.jsonl`` that this package reads: those of a session, and those of a clip."""

    kind: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    clip: str = ""
    prompt: str = ""
    wording: str | None = None
    seed: int | None = None
    first_frame: str | None = None
    bytes: int = 0
    error: str = ""
