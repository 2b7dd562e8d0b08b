"""Lists of place categories such as Places365's: ``/b/balcony/interior 21`` or ``ice_skating_rink/outdoor`` a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.errors import SetupError, cannot
from vmmetrics.mmpg.extract.corpora import LARGEST_OBJECT

_LINE = re.compile(
    r"(?:/?[a-z]/)?(?P<name>[a-z0-9][a-z0-9_'.-]*(?:/[a-z0-9][a-z0-9_'.-]*)*)(?:[\s,;]+-?\d+)?", re.IGNORECASE
)
_MARKED = re.compile(r"[/_]")
_LEAST_MARKED = 0.3
"""Share of a list's lines with a slash or underscore; in Places365's list it is 0.56."""
_LOOKED_AT = 200

_SETTINGS = {"interior": "indoor", "indoor": "indoor", "exterior": "outdoor", "outdoor": "outdoor"}
_AFTER = ("platform", "room", "hall", "entrance", "cabin")
"""Parts of a place that its name ends in ("train station platform"); other kinds go before ("broadleaf forest")."""


@dataclass(frozen=True, slots=True)
class PlaceCategory:
    """A category of a list of places.

    Attributes:
        name: In words ("ice skating rink").
        setting: "indoor", "outdoor" or "either".
    """

    name: str
    setting: str


def is_place_list(path: Path) -> bool:
    """Whether a text file lists place categories rather than captions: each line one name, many with / or _."""
    if path.suffix.lower() != ".txt":
        return False
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as stream:
            lines = [line.strip() for _, line in zip(range(_LOOKED_AT), stream, strict=False) if line.strip()]
    except OSError as error:
        raise cannot("read", path, error) from error
    return _are_categories(lines)


def read_place_list(path: Path) -> list[PlaceCategory]:
    """Read a list of place categories, each once, in order.

    Raises:
        SetupError: The file cannot be read or is too large.
    """
    try:
        if path.stat().st_size > LARGEST_OBJECT:
            raise SetupError(f"{path}: larger than {LARGEST_OBJECT // 2**20} MiB; a list of places is expected")
        lines = path.read_text("utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise cannot("read", path, error) from error
    found = [place_category(line) for line in lines]
    return list(dict.fromkeys(item for item in found if item is not None))


def place_category(line: str) -> PlaceCategory | None:
    """Read a line; None where it is none of a place.

    >>> place_category("/b/balcony/interior 21")
    PlaceCategory(name='balcony', setting='indoor')
    >>> place_category("forest/broadleaf").name, place_category("train_station/platform").name
    ('broadleaf forest', 'train station platform')
    """
    match = _LINE.fullmatch(line.strip())
    if match is None:
        return None
    parts = [" ".join(part.lower().split("_")).strip() for part in match["name"].split("/")]
    setting = "either"
    before: list[str] = []
    after: list[str] = []
    for part in parts[1:]:
        if part in _SETTINGS:
            setting = _SETTINGS[part]
        elif part.split(" ")[-1] in _AFTER:
            after.append(part)
        elif part:
            before.append(part)
    name = " ".join([*before, parts[0], *after]).strip()
    return PlaceCategory(name, setting) if any(c.isalpha() for c in name) else None


def _are_categories(lines: Sequence[str]) -> bool:
    if not lines or not all(_LINE.fullmatch(line) for line in lines):
        return False
    return sum(bool(_MARKED.search(line)) for line in lines) >= _LEAST_MARKED * len(lines)
