"""FAVOR-Bench's own word lists, from the user's copy of its pickle: lists, mappings and strings, nothing runs."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from vmmetrics.errors import SetupError, cannot
from vmmetrics.understanding.benchmarks.favor.lexicon import word_set

FILE: Final = "action_extraction_dicts.pkl"
_LARGEST: Final = 2**20  # bytes; the released file has 50 kB
_STEPS: Final = word_set(
    """
    PROTO FRAME STOP MARK EMPTY_LIST LIST APPEND APPENDS EMPTY_DICT DICT SETITEM SETITEMS
    UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET
    """
)
"""Steps of a pickle that make lists, mappings and strings. Sets and mappings of tuples within tuples would have Python
recurse without bounds."""


class _Strings(pickle.Unpickler):
    """Refuses classes and functions, should :func:`_checked` have let one pass."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")


@dataclass(frozen=True, slots=True)
class Dictionaries:
    """The lists, by their released names, in the released order.

    Attributes:
        words: Of lists of words.
        forms: Of mappings from a word to its forms or synonyms.
    """

    words: Mapping[str, tuple[str, ...]]
    forms: Mapping[str, Mapping[str, tuple[str, ...]]]


def read_dictionaries(path: Path) -> Dictionaries:
    """Read the released pickle, or the folder it lies in.

    Raises:
        SetupError: It is not there, too large, or holds anything but lists, mappings and strings.
    """
    path = next(iter(sorted(path.rglob(FILE))), path / FILE) if path.is_dir() else path
    try:
        if path.stat().st_size > _LARGEST:
            raise SetupError(f"{path}: too large for word lists")
        data = path.read_bytes()
    except OSError as error:
        raise cannot("read", path, error) from error
    try:
        value = _Strings(io.BytesIO(_checked(data))).load()
    except Exception as error:  # a hostile pickle can raise anything
        raise SetupError(f"{path}: not a pickle of word lists: {error}") from error
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise SetupError(f"{path}: expected word lists by name")
    words: dict[str, tuple[str, ...]] = {}
    forms: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for name, entry in value.items():
        if isinstance(entry, dict):
            forms[name] = {word: _texts(path, others) for word, others in entry.items()}
        else:
            words[name] = _texts(path, entry)
    return Dictionaries(words, forms)


def _checked(data: bytes) -> bytes:
    """A pickle, after a look at each of its steps; none has run yet.

    Raises:
        UnpicklingError: A step makes something else, or keeps what it made at a place that takes up memory for nothing.
        ValueError: It is no pickle, or cut off.
    """
    for step, argument, _ in pickletools.genops(data):
        if step.name not in _STEPS:
            raise pickle.UnpicklingError(f"it has a {step.name}")
        if step.name.endswith("PUT") and int(argument or 0) > len(data):
            raise pickle.UnpicklingError(f"it counts to {argument}")
    return data


def _texts(path: Path, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise SetupError(f"{path}: expected lists of words")
    return tuple(value)
