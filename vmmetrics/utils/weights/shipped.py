"""Where the files lie that come with the package: inside an installed one, else in the checkout."""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from vmmetrics.errors import SetupError

_PACKAGE = Path(__file__).parents[2]
_PACKAGED = _PACKAGE / "_data"
_CHECKOUT = _PACKAGE.parent

PROMPT_LISTS: Mapping[str, str] = {"library": "library.json", "mini": "mini.json"}
"""Prompt lists that come with the package, by the name that commands take for them."""


def shipped_folder(name: str) -> Path:
    """Folder of shipped files: ``"weights"`` or ``"prompts"``."""
    packaged = _PACKAGED / name
    return packaged if packaged.is_dir() else _CHECKOUT / name


def shipped_list(name: str | os.PathLike[str]) -> Path:
    """Path of a prompt list: of a shipped one for its name (where no such file lies here), else the path itself."""
    path = Path(name)
    file = PROMPT_LISTS.get(str(name))
    return path if file is None or path.exists() else shipped_folder("prompts") / file


# The weights this project ships: where each file lies and whether it is the file we shipped.
#
# ``weights/manifest.toml`` is the one list of checkpoints: source, licence, size and SHA-256.


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One entry of the manifest.

    Attributes:
        name: What code asks for.
        file: Path below the weights folder.
        used_by: Models that load it.
        source: Where it comes from.
        licence: SPDX identifier.
        bytes: Size of the file.
        sha256: Hash of the file, hexadecimal.
    """

    name: str
    file: str
    used_by: tuple[str, ...]
    source: str
    licence: str
    bytes: int
    sha256: str


def weights_folder() -> Path:
    """Return the folder with the shipped weights: inside an installed package, else in the checkout."""
    return shipped_folder("weights")


@cache
def load_manifest() -> dict[str, WeightFile]:
    """Return the manifest's entries by name.

    Raises:
        SetupError: The manifest is not where the package expects it.
    """
    path = weights_folder() / "manifest.toml"
    if not path.is_file():
        raise SetupError(f"{path} is missing; reinstall with: pip install --force-reinstall vmmetrics")
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["weights"]
    return {e["name"]: WeightFile(**{**e, "used_by": tuple(e["used_by"])}) for e in entries}


@cache
def weight_path(name: str) -> Path:
    """Return the path of a weight file whose size and hash are right.

    Args:
        name: Name in the manifest.

    Raises:
        KeyError: No such name.
        SetupError: The file is missing, truncated or altered.
    """
    entry = load_manifest()[name]
    path = weights_folder() / entry.file
    if not path.is_file():
        raise SetupError(f"weight file {path} is missing; reinstall with: pip install --force-reinstall vmmetrics")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != entry.sha256:
        raise SetupError(
            f"weight file {path} has SHA-256 {found[:16]}… but {entry.sha256[:16]}… was expected: it is truncated or "
            "altered; reinstall with: pip install --force-reinstall vmmetrics"
        )
    return path
