"""Several runs of one configuration made one: the shards of a large set, scored on several machines."""

from __future__ import annotations

import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from vmmetrics.errors import SetupError, cannot
from vmmetrics.metrics.registry import in_order
from vmmetrics.scoring.export import export
from vmmetrics.scoring.header import FORMAT, described, read_run_json
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import events_lines, read_records
from vmmetrics.scoring.table import Table
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.atomic import temporary_of, write_json
from vmmetrics.utils.storage.journal import Journal, Line

MOST_MISSING = 100
"""Parts that are named where some are missing."""


class Merged(NamedTuple):
    """What a merge gave.

    Attributes:
        table: All records.
        duplicates: Clips that were in more than one run.
        conflicts: Of these, the ones whose scores differed; the first run's stand.
        warnings: What was passed over in the runs because it is damaged, in words.
        missing: Parts that none of the runs finished, as (i, n); empty where the runs were not split, or are all there.
    """

    table: Table
    duplicates: tuple[str, ...]
    conflicts: tuple[str, ...]
    warnings: tuple[str, ...]
    missing: tuple[tuple[int, int], ...] = ()


def merge(runs: Sequence[Path], out: Path) -> Merged:
    """Join runs of one configuration into a new run directory, which is there whole or not at all.

    A clip that several runs know by the same name and content is kept once: what one run scored fills what another
    left open or failed at; where both scored, the run named first counts. Two contents under one name and path are
    kept as the newest line of the last run named, like a clip that changed.

    Args:
        runs: Run directories.
        out: New directory; must not exist or be empty.

    Raises:
        SetupError: The configurations differ, a directory is no run, or ``out`` is taken.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100  ("." has no name, and links are kept)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SetupError(f"{out} is taken; choose a new folder for --out")
    headers = [read_run_json(run) for run in runs]
    for run, header in zip(runs[1:], headers[1:], strict=True):
        # they must agree in the configuration, and in what the scores that both have depend on
        names = (str(run), str(runs[0]))
        different = provenance.differences(header["configuration"], headers[0]["configuration"], names=names)
        ours, theirs = header.get("parts", {}), headers[0].get("parts", {})
        shared = ours.keys() & theirs.keys()
        both = [{name: part[name] for name in shared} for part in (ours, theirs)]
        different += provenance.differences(both[0], both[1], names=names)
        if different:
            lines = (f"  {line}" for line in different)
            raise SetupError("The runs have different configurations and cannot be merged:", *lines)
    warnings: list[str] = []
    kept, duplicates, conflicts = _join(runs, warnings)
    table = _write(out, headers, runs, kept, warnings)
    return Merged(table, duplicates, conflicts, tuple(warnings), _missing(headers))


def _missing(headers: Sequence[Mapping[str, Any]]) -> tuple[tuple[int, int], ...]:
    """Parts (i, n) that no session ended for; none where one took all clips, or some n is complete.

    Sessions of fewer of the clips (``--limit``) than others do not count.
    """
    sessions = [session for header in headers for session in header["sessions"]]
    most = max(map(_limit_of, sessions), default=inf)
    parts: dict[int, set[int]] = defaultdict(set)
    for session in (session for session in sessions if _limit_of(session) == most):
        part, ended = _part_of(session), session.get("ended", "before this was noted") is not None
        if part is None and ended:
            return ()
        if part is not None:
            parts[part[1]] |= {part[0]} if ended else set()
    if any(len(present) == count for count, present in parts.items()):
        return ()
    return tuple((i, n) for n, present in sorted(parts.items()) for i in islice(_absent(n, present), MOST_MISSING))


def _limit_of(session: Mapping[str, Any]) -> float:
    limit = session.get("limit")
    return limit if type(limit) is int else inf


def _absent(count: int, present: set[int]) -> Iterator[int]:
    return (number for number in range(1, count + 1) if number not in present)


def _part_of(session: Mapping[str, Any]) -> tuple[int, int] | None:
    """The i and n of a session: as stated, else from its command; None where it took all clips."""
    stated = session.get("shard")
    if isinstance(stated, list) and len(stated) == 2 and all(type(number) is int for number in stated):
        text = f"{stated[0]}/{stated[1]}"
    else:
        command = session.get("command")
        words = [str(word) for word in command] if isinstance(command, list) else []
        text = " ".join(words).replace("--shard=", "--shard ").partition("--shard ")[2].partition(" ")[0]
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    part = (int(match[1]), int(match[2])) if match else (1, 1)
    return part if 1 <= part[0] <= part[1] and part[1] > 1 else None


_Key = tuple[str, str | None]


def _join(runs: Sequence[Path], warnings: list[str]) -> tuple[dict[_Key, Record], tuple[str, ...], tuple[str, ...]]:
    kept: dict[_Key, Record] = {}
    duplicates, conflicts = [], []
    for run in runs:
        damaged: list[str] = []
        records = read_records(run, damaged)
        warnings += [f"{run}: {text}" for text in damaged]
        for record in records:
            key = (record.clip, record.sha256)
            first = kept.setdefault(key, record)
            if first is record:
                continue
            duplicates.append(record.clip)
            if any(first.scores[m] != record.scores[m] for m in first.scores.keys() & record.scores.keys()):
                conflicts.append(record.clip)
            kept[key] = _combine(first, record)
    read = {clip for clip, sha256 in kept if sha256 is not None}
    kept = {(clip, sha256): record for (clip, sha256), record in kept.items() if sha256 is not None or clip not in read}
    return kept, tuple(dict.fromkeys(duplicates)), tuple(dict.fromkeys(conflicts))


def _combine(first: Record, second: Record) -> Record:
    """Both together; ``first`` counts where both have something."""
    if first.error is not None:
        return second
    open_errors = {metric: text for metric, text in first.errors.items() if metric not in second.settled()}
    return replace(first, errors=open_errors).over(second)


def _write(
    out: Path, headers: Sequence[dict[str, Any]], runs: Sequence[Path], kept: dict[_Key, Record], warnings: list[str]
) -> Table:
    building = temporary_of(out)
    try:
        building.mkdir(parents=True)
        events = Journal(building / "events.jsonl")
        for run in reversed(runs):  # the first run's last: of several lines on a metric the last counts
            events.append(_events(run, kept, warnings))
        Journal(building / "scores.jsonl").append(
            record.to_json() for record in sorted(kept.values(), key=lambda record: record.clip)
        )
        header = {
            "format": FORMAT,
            "configuration": headers[0]["configuration"],
            "metrics": list(in_order(m for h in headers for m in h["metrics"])),
            **described({name: part for h in headers for name, part in h.get("parts", {}).items()}),
            "merged_from": [str(run) for run in runs],
            "sessions": [session for h in headers for session in h["sessions"]],
        }
        write_json(building / "run.json", header)
        table = export(building)
        if out.exists():
            out.rmdir()
        building.replace(out)
    except BaseException as error:
        shutil.rmtree(building, ignore_errors=True)
        if isinstance(error, OSError):
            raise cannot("write", f"a run to {out}", error) from error
        raise
    table.path = out
    return table


def _events(run: Path, kept: dict[_Key, Record], warnings: list[str]) -> Iterator[Line]:
    damaged: list[str] = []
    for line in events_lines(run, warnings=damaged):
        record = kept.get((line["clip"], line["sha256"]))
        if record is not None:
            yield {**line, "path": record.path}
    warnings += [f"{run}: {text}" for text in damaged]
