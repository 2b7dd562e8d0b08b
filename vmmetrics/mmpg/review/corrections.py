"""The fields of an entry that a reviewer can correct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from vmmetrics.mmpg.entry import PromptEntry, Tags

_TAG = "tags."
_TAGS = tuple(part.name for part in fields(Tags))
TEXTS = ("subject", "subject_noun", "place", "action", "outcome", "action_lemma", "subject_class", "pattern")
FIELDS = (*TEXTS, *(f"{_TAG}{name}" for name in _TAGS))
"""Everything of an entry but its index, its prompt, which is edited, and where it comes from."""


def field_named(name: str) -> str:
    """The field with a name; a tag may be named without "tags.".

    Raises:
        ValueError: There is none.

    >>> field_named("outcome"), field_named("speed")
    ('outcome', 'tags.speed')
    """
    full = f"{_TAG}{name}" if name in _TAGS else name
    if full not in FIELDS:
        raise ValueError(f"expected a field ({', '.join(FIELDS)}) but got {name!r}")
    return full


def value_of(entry: PromptEntry, field: str) -> str:
    """What the entry has in a field, as text; empty where it has no tags."""
    if not field.startswith(_TAG):
        return str(getattr(entry, field))
    value = getattr(entry.tags, field.removeprefix(_TAG), "")
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def corrected(entry: PromptEntry, corrections: Mapping[str, str]) -> PromptEntry:
    """The entry with other values.

    Args:
        entry: The entry.
        corrections: Values by field, as text.

    Raises:
        ValueError: The field cannot hold the value, or the entry has no tags.
    """
    for field, value in corrections.items():
        if not value:
            raise ValueError(f"expected a value for {field}")
        if not field.startswith(_TAG):
            text: dict[str, Any] = {field: value}
            entry = replace(entry, **text)
        elif entry.tags is None:
            raise ValueError("the entry has no tags to correct")
        else:
            name = field.removeprefix(_TAG)
            tag: dict[str, Any] = {name: _number(value) if name == "seconds" else value}
            entry = replace(entry, tags=replace(entry.tags, **tag))
    return entry


def check_correction(field: str, value: str) -> None:
    """Tell a correction that no entry could take.

    Raises:
        ValueError: There is no such field, or it cannot hold the value.
    """
    if field not in FIELDS:
        raise ValueError(f"unknown field {field!r}")
    corrected(PromptEntry("", "-", "", "", "", "", tags=Tags()), {field: value})


def _number(text: str) -> float:
    """A number, whole ones as such: lists have them so."""
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"Expected seconds to be a number but got {text!r}") from None
    return int(number) if number.is_integer() else number
