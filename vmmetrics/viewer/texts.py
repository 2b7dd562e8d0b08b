"""Texts of runs without absolute paths, hosts and bytes that are no text."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vmmetrics.scoring.prompt_scores import Run
from vmmetrics.scoring.record import Record
from vmmetrics.utils.storage.addresses import masked

_PATH = re.compile(r"(?<![\w./~:-])(?:file:/{2,3})?(?:~[\w.-]*)?/(?:[^\s/:'\"<>|,;]+/)+(?P<name>[^\s/:'\"<>|,;)\]]*)")
"""Absolute paths of at least two parts."""


def legible(text: str) -> str:
    r"""Return text that every browser takes: bytes of file names that are not UTF-8 become escapes.

    >>> legible("a\udcff"), legible("猫")
    ('a\\udcff', '猫')
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of runs as they may be shown to anyone.

    Attributes:
        folders: Folders, longest first; they are cut off what lies in them.
        hosts: Names of machines.
        show_paths: Change nothing but bytes that are no text, and secrets in addresses.
    """

    folders: tuple[str, ...]
    hosts: re.Pattern[str] | None
    show_paths: bool = False

    @classmethod
    def of_runs(cls, runs: Iterable[Run], show_paths: bool = False) -> Texts:
        """Return the texts of runs."""
        folders, hosts = {str(Path.home()), str(Path.cwd())}, {platform.node()}
        for run in runs:
            folders |= {str(run.path.resolve().parent), str(run.path.absolute().parent)}
            for session in run.header["sessions"]:
                machine = session.get("machine")
                folders.add(str(session.get("folder", "")))
                hosts.add(str(machine.get("host", "")) if isinstance(machine, Mapping) else "")
        longest = sorted((path for path in folders if path.count("/") > 1), key=lambda path: (-len(path), path))
        names = "|".join(sorted(map(re.escape, filter(None, hosts)), key=lambda name: (-len(name), name)))
        pattern = re.compile(rf"(?<![\w.-])(?:{names})(?::[0-9]+)?(?![\w-])") if names else None
        return cls(tuple(longest), pattern, show_paths)

    def __call__(self, text: str, record: Record | None = None, name: str = "") -> str:
        """Return a text without paths and hosts.

        Args:
            text: The text.
            record: Clip that it is about, or None.
            name: Name of that clip in the report, which takes the place of its path.
        """
        if self.show_paths:
            return legible(masked(text))
        if record is not None and record.path and record.path in text:
            text = text.replace(record.path, name)
        for folder in self.folders if "/" in text else ():
            text = text.replace(f"{folder}/", "")
        if "/" in text:
            text = _PATH.sub(_last, masked(text))
        if self.hosts is not None:
            text = self.hosts.sub("(host)", text)
        return legible(text)


def _last(match: re.Match[str]) -> str:
    return match["name"] or "(path)"
