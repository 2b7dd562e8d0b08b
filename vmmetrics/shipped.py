"""Where the files lie that come with the package: inside an installed one, else in the checkout."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_PACKAGED = Path(__file__).parent / "_data"
_CHECKOUT = Path(__file__).parent.parent

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
