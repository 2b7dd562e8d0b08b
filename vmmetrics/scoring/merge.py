"""Merging of runs of one configuration, such as shards scored on several machines."""

from __future__ import annotations

import heapq
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby, islice
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from vmmetrics.errors import SetupError, cannot
from vmmetrics.metrics.registry import in_order
from vmmetrics.scoring.export import export
from vmmetrics.scoring.index import EVENTS, SCORES, STATES, RunIndex, StateNote
from vmmetrics.scoring.pictures import POSTERS, Poster, keep_overlay, overlays
from vmmetrics.scoring.record import Record
from vmmetrics.scoring.records import FORMAT, RunRecords, described, events_lines, opened_index, read_run_json
from vmmetrics.scoring.table import Table
from vmmetrics.scoring.versions import differing, versions_of
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.atomic import making, write_json
from vmmetrics.utils.storage.journal import Journal, Line, encode, iterate_with_text
from vmmetrics.utils.storage.opening import read_regular

_LINES = 1000  # that are written at a time
MOST_MISSING = 100
"""Most missing parts that are named."""


class Merged(NamedTuple):
    """Result of a merge.

    Attributes:
        table: All records.
        duplicates: Clips that were in more than one run.
        conflicts: Those of them whose scores differed; the first run's scores are used.
        warnings: Damaged lines of the runs that were skipped, one text each.
        missing: Parts that none of the runs finished, as (i, n); empty where the runs were not split, or are all there.
    """

    table: Table
    duplicates: tuple[str, ...]
    conflicts: tuple[str, ...]
    warnings: tuple[str, ...]
    missing: tuple[tuple[int, int], ...] = ()


def merge(runs: Sequence[Path], out: Path) -> Merged:
    """Merge runs of one configuration into a new run directory, atomically.

    A clip of one name and content in several runs becomes one record: scores of one run fill the gaps and failures of
    another; where both scored, the run named first counts. Of two contents under one name and path, that of the last
    run named is taken, like a clip that changed.

    Args:
        runs: Run directories.
        out: New directory; must not exist or be empty.

    Raises:
        SetupError: Configurations or metric versions differ, a directory is not a run, ``out`` exists, or two clips
            have one name.
    """
    out = Path(os.path.abspath(out))  # noqa: PTH100  ("." has no name, and links are kept)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SetupError(f"{out} already exists; choose a new folder for --out")
    headers = [read_run_json(run) for run in runs]
    for run, header in zip(runs[1:], headers[1:], strict=True):
        # they must agree in the configuration, and in what the scores that both have depend on
        names = (str(run), str(runs[0]))
        different = provenance.conflicts(header["configuration"], headers[0]["configuration"], names)
        ours, theirs = header.get("parts", {}), headers[0].get("parts", {})
        shared = ours.keys() & theirs.keys()
        both = [{name: part[name] for name in shared} for part in (ours, theirs)]
        different += provenance.differences(both[0], both[1], names=names)
        if different:
            lines = (f"  {line}" for line in different)
            raise SetupError("The runs have different configurations and cannot be merged:", *lines)
    warnings: list[str] = []
    sources, versions = [], []
    for run in runs:
        with opened_index(run) as index:
            sources.append(RunRecords(run / SCORES, index.offsets()))
            versions.append((str(run), versions_of(index.kinds())))
            warnings += [f"{run}: {text}" for text in index.warnings()]
    if mixed := differing(versions):
        lines = (f"  {line}" for line in mixed.values())
        raise SetupError("The runs have different metric versions; score the clips of one again:", *lines)
    duplicates: list[str] = []
    conflicts: list[str] = []
    merged = _write(out, headers, runs, _join(sources, duplicates, conflicts))
    return merged._replace(
        duplicates=tuple(dict.fromkeys(duplicates)),
        conflicts=tuple(dict.fromkeys(conflicts)),
        warnings=(*warnings, *merged.warnings, *merged.table.summary.notes),
    )


def _missing(headers: Sequence[Mapping[str, Any]]) -> tuple[tuple[int, int], ...]:
    """Return the parts (i, n) that no session ended for; none where one took all clips, or some n is complete.

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
    missing = (((i, n) for i in range(1, n + 1) if i not in parts[n]) for n in sorted(parts))
    return tuple(part for absent in missing for part in islice(absent, MOST_MISSING))


def _limit_of(session: Mapping[str, Any]) -> float:
    limit = session.get("limit")
    return limit if type(limit) is int else inf


def _part_of(session: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the i and n of a session: as stated, else from its command; None where it took all clips."""
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


def _join(sources: Sequence[RunRecords], duplicates: list[str], conflicts: list[str]) -> Iterator[Record]:
    """Yield the records of all runs in order of name, merged by clip and content."""
    for _, group in groupby(heapq.merge(*sources, key=lambda record: record.clip), lambda record: record.clip):
        by_content: dict[str | None, Record] = {}
        for record in group:
            first = by_content.setdefault(record.sha256, record)
            if first is record:
                continue
            duplicates.append(record.clip)
            if any(first.scores[m] != record.scores[m] for m in first.scores.keys() & record.scores.keys()):
                conflicts.append(record.clip)
            if first.error is None:
                open_errors = {m: text for m, text in first.errors.items() if m not in record.settled()}
                record = replace(first, errors=open_errors).over(record)
            by_content[record.sha256] = record
        if len(by_content) > 1:
            by_content.pop(None, None)  # one run could read it
        key, *others = dict.fromkeys(record.key for record in by_content.values())
        if others:
            raise SetupError(
                f"{key} and {others[0]} are both called {record.clip}; runs of several models are compared with "
                "'vmmetrics leaderboard A=RUN B=RUN', and one run of all is scored from the folder that holds both"
            )
        yield from by_content.values()


def _write(out: Path, headers: Sequence[dict[str, Any]], runs: Sequence[Path], records: Iterable[Record]) -> Merged:
    warnings: list[str] = []
    try:
        with making(out) as building:
            _append(building / SCORES, (encode(record.to_json()) for record in records))
            for run in reversed(runs):  # the first run's last: of several lines the last counts
                _append(building / STATES, (text for _, text in iterate_with_text(run / STATES, like=StateNote)))
            with closing(RunIndex(building)) as index:
                for run in reversed(runs):
                    damaged: list[str] = []
                    _append(building / EVENTS, _lines_of_index(events_lines(run, warnings=damaged), index))
                    warnings += [f"{run}: {text}" for text in damaged]
                    _append(building / POSTERS, _lines_of_index(iterate_with_text(run / POSTERS, like=Poster), index))
                    for sha256, path in overlays(run):
                        keep_overlay(building, sha256, read_regular(path))
            header = {
                "format": FORMAT,
                "configuration": headers[0]["configuration"],
                "metrics": list(in_order(m for h in headers for m in h["metrics"])),
                **described({name: part for h in headers for name, part in h.get("parts", {}).items()}),
                "merged_from": [str(run) for run in runs],
                "sessions": [  # without their positions in the journal
                    {name: value for name, value in session.items() if name != "begin"}
                    for h in headers
                    for session in h["sessions"]
                ],
            }
            write_json(building / "run.json", header)
            table = export(building)
    except OSError as error:
        raise cannot("write", f"a run to {out}", error) from error
    table.path = out
    if isinstance(table.records, RunRecords):
        table.records = RunRecords(out / SCORES, table.records.offsets)
    return Merged(table, (), (), tuple(warnings), _missing(headers))


def _append(path: Path, lines: Iterable[bytes]) -> None:
    """Append lines in blocks."""
    journal, rest = Journal(path), iter(lines)
    while block := list(islice(rest, _LINES)):
        journal.write(b"".join(block))


def _lines_of_index(lines: Iterable[tuple[Line, bytes]], index: RunIndex) -> Iterator[bytes]:
    """Yield the lines on clips that the index has with that content, under the paths they have there."""
    for line, text in lines:
        key = index.key_of(line["clip"], line["sha256"])
        if key is not None:
            same = (line.get("path") or line["clip"]) == key
            yield text if same else encode({**line, "path": key})
