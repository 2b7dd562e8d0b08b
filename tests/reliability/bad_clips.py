"""The catalogue of bad and odd clips: every kind by name, made from nothing, for the tests and for the campaign."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from tests.bad_inputs import make_all

Rule = Literal["any", "error", "ok", "whole"]


@dataclass(frozen=True, slots=True)
class BadClip:
    """One input and what may become of it.

    Attributes:
        kind: Name of the kind; several inputs of the campaign share one.
        path: The clip: a file or a folder.
        rule: ``"error"``: refused with a reason; ``"ok"``: read; ``"whole"``: refused, read with every frame, or read
            with a note; ``"any"``: refused with a reason or read.
        frames: Frames of the whole clip, for ``"whole"``.
    """

    kind: str
    path: Path
    rule: Rule = "any"
    frames: int = 0


Group = Callable[[Path, bool], Iterable[BadClip]]
GROUPS = ("bad_containers", "bad_headers", "bad_arrays", "bad_videos", "bad_animations", "bad_places")
"""Modules with one function ``kinds(folder, dense)`` each."""


def catalogue(folder: Path, *, dense: bool = False) -> list[BadClip]:
    """Make the clips of every kind.

    Args:
        folder: Where; must not exist.
        dense: Whether to make every cut and flip of the campaign, and what takes seconds or gigabytes.

    Returns:
        The clips; kinds that this machine cannot make (a missing encoder) are left out.
    """
    clips: list[BadClip] = []
    for name in GROUPS:
        home = folder / name
        home.mkdir(parents=True)
        group: Group = import_module(f"tests.reliability.{name}").kinds
        clips += group(home, dense)
    return clips + list(_listed(folder / "listed"))


def _listed(folder: Path) -> Iterator[BadClip]:
    for bad in make_all(folder / "clips"):
        yield BadClip(f"listed: {bad.name}", bad.path, bad.expected)


def attempt(make: Callable[..., Any], path: Path, *arguments: Any, **options: Any) -> Path | None:
    """Make a clip that not every build of FFmpeg or Pillow can make; None where this one cannot."""
    import av

    try:
        make(path, *arguments, **options)
    except (av.FFmpegError, OSError, RuntimeError, ValueError, TypeError, KeyError):
        path.unlink(missing_ok=True)
        return None
    return path


def put(path: Path, data: bytes) -> Path:
    """Write a file."""
    path.write_bytes(data)
    return path


def sparse(path: Path, head: bytes, size: int) -> Path:
    """Write a file that states a size and takes a few blocks."""
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size)
    return path
