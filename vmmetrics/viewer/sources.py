"""Runs that a report is made of, with the names of their clips and without paths in their texts."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import Any

from vmmetrics.errors import SetupError
from vmmetrics.scoring.anchors import Scale
from vmmetrics.scoring.own_index import with_own_index
from vmmetrics.scoring.prompt_scores import DECISIVE, Run, read_run, split_source
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.summary import Summary, reduced_lines
from vmmetrics.scoring.table import with_index
from vmmetrics.scoring.versions import Versions, of_one_meaning, versions_of
from vmmetrics.utils.storage.addresses import address_of
from vmmetrics.viewer.texts import Texts, legible

RunPath = str | os.PathLike[str]


def read_runs(sources: Sequence[str], index: RunPath | None = None) -> list[Run]:
    """Read the runs of a report, with names instead of paths in titles.

    Args:
        sources: Run directories, or ``NAME=DIRECTORY``.
        index: File of an index of one's own that clips get; those that collapsed have 0 in any.

    Returns:
        The runs. The title is the name, else the folder's name, with as many parent folders, or a number, as tell it
        from the others. Runs that have a model of one name are named by their titles.

    Raises:
        SetupError: One is not a run, or cannot be read, or the index does not hold for it.
    """
    runs = [with_own_index(read_run(*split_source(source)), index) for source in sources]
    titles = distinct_titles([run.name for run in runs], [run.path for run in runs])
    runs = [replace(run, title=title) for run, title in zip(runs, titles, strict=True)]
    models = [{run.model_name(model) for model in {record.model for record in run.records}} for run in runs]
    owners = Counter(chain.from_iterable(models))
    clashing = [any(owners[model] > 1 for model in names) for names in models]
    return [replace(run, name=run.title) if clash else run for run, clash in zip(runs, clashing, strict=True)]


def distinct_titles(names: Sequence[str], paths: Sequence[Path]) -> list[str]:
    """Return a title for every run: its name, else the last parts of its path that no other run has.

    >>> distinct_titles(["", "", "base"], [Path("/a/run"), Path("/b/run"), Path("/c/run")])
    ['a/run', 'b/run', 'base']
    """
    parts = [[name] if name else list(path.resolve().parts[1:]) for name, path in zip(names, paths, strict=True)]
    lengths = [1] * len(parts)
    while True:
        titles = ["/".join(of[-length:]) or "run" for of, length in zip(parts, lengths, strict=True)]
        times = Counter(titles)
        longer = [n for n, of in enumerate(parts) if times[titles[n]] > 1 and lengths[n] < len(of)]
        if not longer:
            break
        for number in longer:
            lengths[number] += 1
    seen: Counter[str] = Counter()
    for number, title in enumerate(titles):
        seen[title] += 1
        titles[number] = title if seen[title] == 1 else f"{title} ({seen[title]})"
    return titles


@dataclass(frozen=True, slots=True)
class Source:
    """A run of a report.

    Attributes:
        run: The run.
        names: Name of every clip in the report, each once.
        versions: Versions of its scores.
    """

    run: Run
    names: Sequence[str]
    versions: Versions

    @property
    def name(self) -> str:
        """Its name in the report, unlike those of the others."""
        return legible(self.run.title)

    @property
    def records(self) -> Sequence[Record]:
        """The newest record of every clip, in order of name."""
        return self.run.records


def read_sources(runs: RunPath | Sequence[RunPath], index: RunPath | None = None) -> list[Source]:
    """Read the runs of a report, each once.

    Args:
        runs: Run directories; ``NAME=DIRECTORY`` names one.
        index: As of :func:`read_runs`.

    Raises:
        SetupError: There is none, or one is no run, has no clips or is listed twice.
    """
    listed = [runs] if isinstance(runs, str | os.PathLike) else list(runs)
    if not listed:
        raise SetupError("A report needs a run directory")
    sources: dict[str, Source] = {}
    for run in read_runs([os.fspath(path) for path in listed], index):
        if not run.records:
            raise SetupError(f"{run.path} has no scored clips yet")
        if str(run.path.resolve()) in sources:
            raise SetupError(f"{run.path} is listed twice")
        sources[str(run.path.resolve())] = Source(run, clip_names(run.records), versions_of(run.records))
    return list(sources.values())


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
        decisive = {name: source.run.configuration.get(name) for name in DECISIVE}
        by_configuration.setdefault(json.dumps(decisive, sort_keys=True), []).append(position)
    alike: list[list[int]] = []
    for positions in by_configuration.values():
        alike += of_one_meaning(positions, lambda position: (sources[position].name, sources[position].versions))
    group_of = {position: number for number, members in enumerate(alike) for position in members}
    return [group_of[position] for position in range(len(sources))]


def describe_run(source: Source, group: int, texts: Texts) -> dict[str, Any]:
    """Return a run for the page (``RunInfo`` in ``page/types.d.ts``).

    Args:
        source: The run.
        group: Number of its group (:func:`groups_of`).
        texts: Removes paths and hosts.
    """
    configuration, sessions = source.run.configuration, source.run.header["sessions"]
    releases = [configuration.get("versions"), *(session.get("versions") for session in sessions)]
    stated = {str(part["vmmetrics"]) for part in releases if isinstance(part, Mapping) and "vmmetrics" in part}
    scale = Scale(configuration)
    unanchored = {scale.text(with_index(record), record.score_version) for record in source.records} - {""}
    notes = [*_limits(sessions), *source.run.warnings, *source.run.indexes.values()]
    notes += [line.removeprefix("- ") for line in reduced_lines(Summary(source.records))]
    notes += [f"no place among real footage: {reason}" for reason in sorted(unanchored)]
    return {
        "name": source.name,
        "label": texts(str(configuration.get("label", ""))),
        "preset": texts(str(configuration.get("preset", ""))),
        "protocol": texts(str(configuration.get("protocol", ""))),
        "comparable": bool(configuration.get("comparable", False)),
        "clips": len(source.records),
        "failed": sum(record.failed for record in source.records),
        "versions": {metric: list(versions) for metric, versions in source.versions.items()},
        "vmmetrics": sorted(map(texts, stated)),
        "begun": min(_times(sessions, "started"), default=None),
        "ended": max(_times(sessions, "ended"), default=None),
        "notes": [*_commands(sessions, texts), *map(texts, notes)],
        "group": group,
    }


_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}(Z|[+-][0-9:]{2,6})?")


def _times(sessions: Iterable[Mapping[str, Any]], name: str) -> list[str]:
    """Return the times of that name that look like one."""
    times = (session.get(name) for session in sessions)
    return [time for time in times if isinstance(time, str) and _TIME.fullmatch(time)]


def _commands(sessions: Iterable[Mapping[str, Any]], texts: Texts) -> list[str]:
    """Return the commands that scored, each once."""
    commands: dict[str, None] = {}
    for session in sessions:
        words = session.get("command")
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            commands[shlex.join([PurePosixPath(words[0]).name, *map(texts, words[1:])])] = None
    return list(commands)


def _limits(sessions: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the limits of sessions that scored a part of the clips, each once."""
    limits: dict[str, None] = {}
    for session in sessions:
        if isinstance(limit := session.get("limit"), int):
            limits[f"limited to the first {limit} clips"] = None
        if isinstance(shard := session.get("shard"), str | list):
            limits[f"shard {'/'.join(map(str, shard)) if isinstance(shard, list) else shard}"] = None
    return list(limits)
