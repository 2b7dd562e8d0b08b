"""What a case is: inputs placed in a folder, and commands run there one after the other."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROBES = Path(__file__).resolve().parent / "probes"
SHARED = ROOT.parent / "shared"

Input = Callable[[Path], None]
"""Writes something into the folder it is given, which the commands know as ``in``."""


@dataclass(frozen=True)
class Case:
    """Commands in a folder of their own, of which everything that can be seen is recorded.

    Attributes:
        family: Under which it is counted.
        name: Unique within the family; the name of the file.
        commands: Arguments of ``vmmetrics``, as in a shell; ``@probe ...`` runs ``probes/probe.py`` instead,
            ``< FILE`` at the end is read as standard input, and {url} is the stand-in for a model.
        inputs: What is placed in ``in``.
        columns: Width of the terminal.
        endpoint: Whether the stand-in for a model is to answer.
    """

    family: str
    name: str
    commands: tuple[str, ...]
    inputs: tuple[Input, ...] = ()
    columns: int = 160
    endpoint: bool = False

    @property
    def key(self) -> str:
        """Family and name."""
        return f"{self.family}/{self.name}"

    @property
    def port(self) -> int:
        """Port of the stand-in: the same in each tree, because names of kept replies depend on the address."""
        return 21000 + zlib.crc32(self.key.encode()) % 9000


def cases_of(family: str, rows: dict[str, tuple[tuple[Input, ...], list[str]]], **more: bool) -> list[Case]:
    """Make cases of a family from rows of name, inputs and commands."""
    return [Case(family, name, tuple(commands), inputs, **more) for name, (inputs, commands) in rows.items()]
