"""Runs that a report is made of: read once, with names that are unique and hold no path."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.scoring.header import read_run_json
from vmmetrics.scoring.leaderboard import DECISIVE
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import read_records
from vmmetrics.scoring.versions import Versions, of_one_meaning, versions_of
from vmmetrics.utils.storage.addresses import address_of
from vmmetrics.viewer.texts import Texts, legible

Run = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Source:
    """A run.

    Attributes:
        name: Its name in the report, unlike those of the others.
        label: The NAME of ``NAME=RUN``, or "".
        path: Run directory.
        header: Its ``run.json``.
        records: Newest record of every clip, in order of the clips' names.
        names: Name of every clip in the report, each once.
        versions: Versions of its scores.
        texts: Removes paths and hosts from its texts.
        warnings: Texts on damaged lines.
    """

    name: str
    label: str
    path: Path
    header: Mapping[str, Any]
    records: Sequence[Record]
    names: Sequence[str]
    versions: Versions
    texts: Texts
    warnings: list[str]

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The configuration that all of its scores have."""
        configuration: Mapping[str, Any] = self.header["configuration"]
        return configuration

    def model(self, record: Record) -> str:
        """Return the model of a clip as the leaderboard names it."""
        if self.label and record.model:
            return legible(f"{self.label}/{record.model}")
        return legible(record.model or self.label or self.path.resolve().name)


def read_sources(runs: Run | Sequence[Run], show_paths: bool = False) -> list[Source]:
    """Read the runs of a report, each once.

    Args:
        runs: Run directories; ``NAME=DIRECTORY`` names one.
        show_paths: Leave absolute paths in texts.

    Raises:
        SetupError: There is none, or one is no run, has no clips or is named twice.
    """
    listed = [runs] if isinstance(runs, str | os.PathLike) else list(runs)
    if not listed:
        raise SetupError("A report needs a run directory")
    sources: list[Source] = []
    for label, path in map(_named, listed):
        if any(other.path.resolve() == path.resolve() for other in sources):
            raise SetupError(f"{path} is named twice")
        sources.append(_read(label, path, {source.name for source in sources}, show_paths))
    return sources


def _named(run: Run) -> tuple[str, Path]:
    """Return the name, or "", and the directory of a run as ``vmmetrics leaderboard`` takes it."""
    name, equals, folder = os.fspath(run).partition("=")
    if equals and not Path(run).exists():
        if "/" in name:
            raise SetupError(f"A name of a run has no '/': {name!r}")
        return name, Path(folder)
    return "", Path(run)


def _read(label: str, path: Path, taken: set[str], show_paths: bool) -> Source:
    header = read_run_json(path)
    warnings: list[str] = []
    records = read_records(path, warnings)
    if not records:
        raise SetupError(f"{path} has no scored clips yet")
    name = _numbered(legible(label or path.resolve().name or "run"), taken)
    texts = Texts.of_run(path, header["sessions"], show_paths)
    return Source(name, label, path, header, records, clip_names(records), versions_of(records), texts, warnings)


def clip_names(records: Iterable[Record]) -> list[str]:
    """Return names of clips, each once and without a folder of this machine.

    A clip whose name is taken by that of another folder is recorded by its path: its last folder and its name remain.
    """
    names: dict[str, None] = {}
    for record in records:
        name = record.clip
        if PurePosixPath(name).is_absolute() or address_of(name) is not None:
            name = "/".join(PurePosixPath(name).parts[-2:]).lstrip("/")
        names[_numbered(legible(name) or "clip", names)] = None
    return list(names)


def _numbered(name: str, taken: Container[str]) -> str:
    """Return the name, or the first of "name (2)", "name (3)" that is not taken."""
    candidates = (f"{name} ({number})" for number in count(2))
    return next(candidate for candidate in chain([name], candidates) if candidate not in taken)


def groups_of(sources: Sequence[Source]) -> list[int]:
    """Return the number of the group of each run: scores of runs of one group are comparable."""
    by_configuration: dict[str, list[int]] = {}
    for position, source in enumerate(sources):
        decisive = {name: source.configuration.get(name) for name in DECISIVE}
        by_configuration.setdefault(json.dumps(decisive, sort_keys=True), []).append(position)
    alike: list[list[int]] = []
    for positions in by_configuration.values():
        alike += of_one_meaning(positions, lambda position: (sources[position].name, sources[position].versions))
    group_of = {position: number for number, members in enumerate(alike) for position in members}
    return [group_of[position] for position in range(len(sources))]


def describe_run(source: Source, group: int) -> dict[str, Any]:
    """Return a run for the page (``RunInfo`` in ``page/types.d.ts``)."""
    configuration, sessions = source.configuration, source.header["sessions"]
    releases = [configuration.get("versions"), *(session.get("versions") for session in sessions)]
    stated = [str(part["vmmetrics"]) for part in releases if isinstance(part, Mapping) and "vmmetrics" in part]
    return {
        "name": source.name,
        "label": source.texts(str(configuration.get("label", ""))),
        "preset": str(configuration.get("preset", "")),
        "protocol": str(configuration.get("protocol", "")),
        "comparable": bool(configuration.get("comparable", False)),
        "clips": len(source.records),
        "failed": sum(record.failed for record in source.records),
        "versions": {metric: list(versions) for metric, versions in source.versions.items()},
        "vmmetrics": sorted({source.texts(version) for version in stated}),
        "begun": min(_times(sessions, "started"), default=None),
        "ended": max(_times(sessions, "ended"), default=None),
        "notes": [*_commands(source), *_limits(source), *map(source.texts, source.warnings)],
        "group": group,
    }


_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}(Z|[+-][0-9:]{2,6})?")


def _times(sessions: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    """Return the times of that name that look like one."""
    times = (session.get(name) for session in sessions)
    return [time for time in times if isinstance(time, str) and _TIME.fullmatch(time)]


def _commands(source: Source) -> list[str]:
    """Return the commands that scored, each once, with names of files in place of paths."""
    commands: dict[str, None] = {}
    for session in source.header["sessions"]:
        words = session.get("command")
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            commands[" ".join([PurePosixPath(words[0]).name, *map(source.texts, words[1:])])] = None
    return list(commands)


def _limits(source: Source) -> list[str]:
    """Return the limits of sessions that scored a part of the clips."""
    limits: dict[str, None] = {}
    for session in source.header["sessions"]:
        if isinstance(limit := session.get("limit"), int):
            limits[f"limited to the first {limit} clips"] = None
        if isinstance(shard := session.get("shard"), str | list):
            limits[f"shard {'/'.join(map(str, shard)) if isinstance(shard, list) else shard}"] = None
    return [source.texts(limit) for limit in limits]
