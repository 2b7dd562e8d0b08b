"""Clips of an audit: those that ship with the package, with what they show, and the user's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from vmmetrics.clip import Clip
from vmmetrics.errors import ClipError, SetupError
from vmmetrics.scoring.tasks import Task, tasks_of_paths
from vmmetrics.scoring.verification import CLIPS
from vmmetrics.video import read_clip

_WALKS, _DRIVE = "A woman walks to a chair and sits down.", "Cars drive fast on a road."
SOUND = {
    "real-cups": "A woman moves three red cups about on a white table.",
    "real-juggle": "A young man keeps a ball in the air with his feet, on a lawn.",
    "real-parking": "A white and a red car drive across a car park, seen from above.",
    "real-smoke": "Smoke and flames come out of a doll's house in a garden.",
    "real-stream": "Water runs down a stream past black and white stones.",
    "rendered-linear-pan": "An olive patch glides over a speckled orange ground.",
    "rendered-behind-pillar-rotation": "Speckled patches pass behind a green pillar.",
    "rendered-figure-still": "A dark patch with ragged edges climbs over a purple ground.",
    "cogvideo-woman-walks-and-sits": _WALKS,
    "modelscope-t2v-cars-drive-fast": _DRIVE,
    "modelscope-t2v-woman-walks-and-sits": _WALKS,
    "zeroscope-cars-drive-fast": _DRIVE,
}
"""Shipped clips into which defects are injected, and what they show; the others have some defect already."""


PROMPTS = (
    "A horse gallops fast across a field from left to right.", "A leaf sinks slowly down to the ground.",
    "Two children throw a red ball up.", "Waves roll onto a beach, the camera pans to the left.",
    "A man turns a wheel with both hands.", "A blue car stands still in the rain, static camera.",
)  # fmt: skip
"""Prompts of clips that have none, in turn, for targets that ask for one."""


def shipped_clips(*, sound: bool = False) -> list[Path]:
    """Return the clips that come with the package; ``sound`` leaves out those with a defect."""
    return [path for path in sorted(CLIPS.glob("*.mp4")) if not sound or path.stem in SOUND]


def tasks_of(clips: Sequence[Path], prompts: Path | None = None) -> list[Task]:
    """Return clips of files and folders; without any, those that are shipped.

    Raises:
        SetupError: There are none, or some are not on this machine.
    """
    tasks = tasks_of_paths(list(clips or shipped_clips()), (), prompts, None)[0]
    if any(task.uri is not None for task in tasks):
        raise SetupError("An audit reads local clips only: copy them into a folder first")
    if not tasks:
        raise SetupError(f"No clips in {', '.join(map(str, clips))}")
    return tasks


def sound_clips(tasks: Sequence[Task], limit: int) -> list[Path]:
    """Return the first clips of the user; without any, those that are shipped without a defect."""
    return ([Path(str(task.path)) for task in tasks] or shipped_clips(sound=True))[:limit]


def readable(tasks: Sequence[Task], reasons: list[str]) -> Iterator[Clip]:
    """Yield the clips that can be read; why others cannot is added to ``reasons``."""
    for task in tasks:
        try:
            clip = read_clip(task.path, name=task.clip, prompt=task.prompt, root=task.root)
        except ClipError as error:
            reasons.append(f"{task.clip} cannot be read: {error}")
        else:
            yield replace(clip, prompt=clip.prompt or SOUND.get(Path(task.clip).stem))


def sample_of(tasks: Sequence[Task], limit: int = 20) -> list[Clip]:
    """Return the first readable clips.

    Raises:
        SetupError: None can be read.
    """
    reasons: list[str] = []
    clips = [clip for _, clip in zip(range(limit), readable(tasks, reasons), strict=False)]
    if not clips:
        raise SetupError("No clip can be read", *reasons[:3])
    return clips
