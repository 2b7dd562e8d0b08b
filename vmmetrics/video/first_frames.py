"""First frames of clips to be generated: pictures named by prompt."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from vmmetrics.errors import SetupError, explain
from vmmetrics.types import UInt8Array
from vmmetrics.utils.storage.opening import open_regular
from vmmetrics.utils.tables import sha256_of
from vmmetrics.video.pixels import picture_to_rgb

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp")
"""Suffixes of pictures, the preferred first."""


class GivenFrame(NamedTuple):
    """A picture that a clip is to begin with: its file, and the hash of that."""

    path: Path
    sha256: str


def first_frame_file(folder: Path, index: str) -> Path | None:
    """Return the picture of a prompt in a folder; None where there is none."""
    return next((file for suffix in SUFFIXES if (file := folder / f"{index}{suffix}").is_file()), None)


def find_first_frames(folder: Path, indices: Iterable[str]) -> dict[str, GivenFrame]:
    """Return the picture of each prompt, ``0003.png`` and so on.

    Raises:
        SetupError: The folder lacks some.
    """
    found, absent = {}, []
    for index in indices:
        path = first_frame_file(folder, index)
        if path is None:
            absent.append(index)
        else:
            found[index] = GivenFrame(path, sha256_of(path))
    if absent:
        names = ", ".join(f"{index}.png" for index in absent[:3])
        raise SetupError(f"{folder} lacks first frames of {len(absent)} prompts: {names}{' ...' * (len(absent) > 3)}")
    return found


def read_picture(path: Path) -> UInt8Array:
    """Return a picture as (H, W, 3) uint8 RGB.

    Raises:
        SetupError: It cannot be read.
    """
    try:
        with open_regular(path) as file, Image.open(file) as picture:
            return picture_to_rgb(picture)[0]
    except Exception as error:  # decoders raise of all kinds
        raise SetupError(f"{path}: not readable as a picture: {explain(error)}") from error
