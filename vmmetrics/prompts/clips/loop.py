"""Generation loop: makes every missing clip, records it, and records failures without retrying."""

from __future__ import annotations

import os
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vmmetrics.errors import ClipError, SetupError
from vmmetrics.prompts.clips.folder import ClipFolder, ClipPlan, Job
from vmmetrics.utils.storage.journal import Line
from vmmetrics.utils.storage.provenance import machine, now, version_of
from vmmetrics.video import read_clip

_POLL_SECONDS = 0.2  # between two looks at clips that another process has in hand
_LEAST_FRAMES = 2  # one picture has no motion


class Maker(Protocol):
    """Generator of clips from a prompt and a seed."""

    @property
    def configuration(self) -> Mapping[str, Any]:
        """Return what clips depend on besides prompt and seed, as JSON values; available before loading."""

    def load(self) -> Mapping[str, Any]:
        """Prepare once, and return what to record (versions, device)."""

    def make(self, job: Job, out: Path) -> None:
        """Write the clip to ``out``; other files may be left in its folder."""


class ClipListener(Protocol):
    """Receives the progress of the loop."""

    def begin(self, total: int, made: int) -> None:
        """Start a run over ``total`` clips, of which ``made`` exist."""

    def warn(self, warnings: Sequence[str]) -> None:
        """Report damage in the folder."""

    def advance(self, line: Line) -> None:
        """Report a clip as made or failed, by this or another process."""


@dataclass(frozen=True, slots=True)
class ClipsOutcome:
    """Counts of a generation run.

    Attributes:
        made: Requested clips that exist now.
        failed: Clips that are not, with the reason.
    """

    made: tuple[str, ...]
    failed: Mapping[str, str]


def generate(path: Path, plan: ClipPlan, maker: Maker, listener: ClipListener) -> ClipsOutcome:
    """Make the clips that a folder lacks.

    Several processes may do this with one folder at once: they share the work, and each returns when all is done. What
    failed before this call is tried once more; what fails during it, here or elsewhere, is not. A clip whose prompt
    has changed in the list is regenerated.

    Args:
        path: The folder.
        plan: The clips.
        maker: Makes them; loaded only where something is to be made.
        listener: Receives the progress.

    Raises:
        SetupError: The folder or the maker cannot be used.
    """
    with ClipFolder(path) as folder:
        earlier, session = dict(folder.newest), uuid.uuid4().hex[:8]

        def settled(job: Job) -> bool:
            """Return True if the clip exists or was tried since this call began."""
            folder.refresh()
            line = folder.newest.get(job.clip)
            tried = line is not None and "error" in line and line is not earlier.get(job.clip)
            return tried or folder.made(job)

        pending = deque(job for job in plan.jobs if not folder.made(job))
        configuration = {**maker.configuration, "samples": plan.samples, "seed": plan.seed}
        configuration |= {"form": plan.form} if plan.form else {}
        folder.check(configuration)  # before anything large is loaded
        start: dict[str, Any] = {}
        if pending:
            about = maker.load()
            start = {"session": session, "started": now(), "pid": os.getpid(), "vmmetrics": version_of("vmmetrics")}
            start |= {"machine": machine(), **about}
        folder.join(configuration, start, plan.listed)
        listener.begin(len(plan.jobs), len(plan.jobs) - len(pending))
        _warn(folder, listener)
        idle = 0
        while pending:
            job = pending.popleft()
            if not settled(job):
                if not folder.claim(job.clip):
                    pending.append(job)
                    idle += 1
                    if idle >= len(pending):  # all that is left is in the hands of others
                        time.sleep(_POLL_SECONDS)
                        idle = 0
                    continue
                try:
                    if not settled(job):  # another process may have been faster
                        folder.record(_line(folder, job, maker, session))
                finally:
                    folder.release(job.clip)
                _warn(folder, listener)
            listener.advance(folder.newest[job.clip])
            idle = 0
        left = [job.clip for job in plan.jobs if not folder.made(job)]
        failed = {clip: str(folder.newest.get(clip, {}).get("error", "the clip file is missing")) for clip in left}
        return ClipsOutcome(tuple(job.clip for job in plan.jobs if job.clip not in failed), failed)


def _line(folder: ClipFolder, job: Job, maker: Maker, session: str) -> Line:
    """Generate a clip and return its record."""
    line: Line = {"clip": job.clip, "index": job.entry.index, "sample": job.sample, "prompt": job.entry.prompt}
    line |= {"seed": job.seed, "session": session}
    if job.form:
        line["wording"] = job.text
    if job.first_frame is not None:
        line["first_frame"] = job.first_frame.sha256
    start = time.monotonic()
    try:
        with folder.workplace(job) as directory:
            out = directory / job.clip
            maker.make(job, out)
            line |= _checked(out)
            line |= folder.put(job, out)
    except SetupError:
        raise
    except Exception as error:  # whatever a model or program does to one prompt, the others go on
        line["error"] = str(error) if isinstance(error, ClipError) else f"{type(error).__name__}: {error}"
    return {**line, "seconds": round(time.monotonic() - start, 3), "when": now()}


def _warn(folder: ClipFolder, listener: ClipListener) -> None:
    if folder.warnings:
        listener.warn(folder.warnings)
        folder.warnings = []


def _checked(out: Path) -> dict[str, Any]:
    """Read a new clip as scoring will, and return its properties.

    Raises:
        ClipError: Scoring could not read it.
    """
    if out.is_symlink() or not out.is_file():
        raise ClipError("no clip was written")
    clip = read_clip(out)
    if len(clip) < _LEAST_FRAMES:
        raise ClipError("the clip has a single frame, so no motion")
    return {"frames": len(clip), "fps": round(clip.fps, 3), "width": clip.size[0], "height": clip.size[1]}
