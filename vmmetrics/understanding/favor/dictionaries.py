"""FAVOR-Bench's own word lists, from the user's copy of its pickle: containers and strings are read, nothing is run."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

from vmmetrics.errors import SetupError

FILE: Final = "action_extraction_dicts.pkl"
_LARGEST: Final = 2**24  # bytes; the released file has 50 kB


class _Strings(pickle.Unpickler):
    """Reads lists, tuples, sets, mappings and strings: whatever needs a class or a function is refused."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")

    def persistent_load(self, pid: Any) -> NoReturn:  # noqa: ARG002 - the interface is pickle's
        raise pickle.UnpicklingError("it asks for an object outside of the file")


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
        SetupError: It is not there, too large, or holds anything but containers and strings.
    """
    path = next(iter(sorted(path.rglob(FILE))), path / FILE) if path.is_dir() else path
    try:
        if path.stat().st_size > _LARGEST:
            raise SetupError(f"{path}: too large for word lists")
        with path.open("rb") as file:
            value = _Strings(file).load()
    except OSError as error:
        raise SetupError(f"Cannot read {path}: {error.strerror or error}") from error
    except Exception as error:  # a hostile pickle can raise anything
        raise SetupError(f"{path}: not a pickle of word lists: {error}") from error
    if not isinstance(value, dict):
        raise SetupError(f"{path}: expected word lists by name")
    words: dict[str, tuple[str, ...]] = {}
    forms: dict[str, Mapping[str, tuple[str, ...]]] = {}
    for name, entry in value.items():
        if isinstance(entry, dict):
            forms[str(name)] = {str(word): _texts(path, others) for word, others in entry.items()}
        else:
            words[str(name)] = _texts(path, entry)
    return Dictionaries(words, forms)


def _texts(path: Path, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise SetupError(f"{path}: expected lists of words")
    return tuple(value)
