"""The run directory: ``run.json``, ``scores.jsonl``, ``events.jsonl`` and the tables made from them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, cannot
from vmmetrics.metrics.registry import in_order
from vmmetrics.scoring.record import Record
from vmmetrics.utils.schema import check, convert, read_json
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.job_folder import check_folder, prepare, refuse
from vmmetrics.utils.storage.journal import Journal, Line, iterate_lines
from vmmetrics.utils.storage.lock import CONFIGURATION, JOURNAL, ByteLocks, Locked

FORMAT = 1
"""Version of the layout, in ``run.json``."""

# The system's locks do not tell two users within one process apart, so each process opens a directory once.
_open_here: set[Path] = set()


class RunDirectory(Locked):
    """One run on disk, shared by every process that opened it: a new one, or one to go on with.

    Args:
        path: The directory; made if absent.
        configuration: What every score of the run depends on.
        session: What to record about this start: ``metrics`` and anything else worth knowing.
        parts: What single scores depend on, by name; may be added to later, but not changed.

    Attributes:
        path: The directory.
        records: Newest record of every clip, by its key.
        warnings: What was found damaged, in words.

    Raises:
        SetupError: The directory holds a run of another configuration, or something else, or cannot be written.
    """

    def __init__(
        self,
        path: Path,
        configuration: Mapping[str, Any],
        session: Mapping[str, Any],
        parts: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        prepare(path, "run.json", _OURS, "scores")
        self.path = path.resolve()
        self.records: dict[str, Record] = {}
        self.warnings: list[str] = []
        if self.path in _open_here:
            raise SetupError(f"This process has {self.path} open already")
        self._scores = Journal(self.path / "scores.jsonl")
        self._events = Journal(self.path / "events.jsonl")
        try:
            self._locks = ByteLocks(self.path / "run.lock")
            _open_here.add(self.path)
            try:
                with self._locks.holding(CONFIGURATION):
                    self._join(configuration, session, parts or {})
                with self._locks.holding(JOURNAL):
                    self.warnings += self._scores.mend() + self._events.mend()
                self.refresh()
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise cannot("write", f"a run to {path}", error) from error

    def _join(
        self, configuration: Mapping[str, Any], session: Mapping[str, Any], parts: Mapping[str, Mapping[str, Any]]
    ) -> None:
        path = self.path / "run.json"
        run: dict[str, Any] = {"format": FORMAT, "configuration": configuration, "metrics": [], "sessions": []}
        if path.exists():
            run = read_run_json(self.path)
            different = provenance.differences(json.loads(json.dumps(configuration)), run["configuration"])
            for name, part in run.get("parts", {}).items():
                if name in parts:
                    different += provenance.differences(json.loads(json.dumps(parts[name])), part, f"{name}.")
            refuse(different, f"{self.path} was scored with another configuration", "score with what the run used")
        run["metrics"] = list(in_order([*run["metrics"], *session.get("metrics", ())]))
        run |= described({**run.get("parts", {}), **parts})
        run["sessions"].append({"started": provenance.now(), "ended": None, **session})
        self._session = len(run["sessions"]) - 1
        write_json(path, run)

    def end(self) -> None:
        """Note that the session did all that it was started for; one that was stopped or killed never is."""
        with self._locks.holding(CONFIGURATION):
            run = read_run_json(self.path)
            run["sessions"][self._session]["ended"] = provenance.now()
            write_json(self.path / "run.json", run)

    def refresh(self) -> None:
        """Take in what other processes appended since."""
        with self._locks.holding(JOURNAL):
            self._take_in()

    def _take_in(self) -> None:
        self.records |= {record.key: record for record in self._scores.read_as(Record)}
        self.warnings += self._scores.warnings("; its clip is scored again")

    def append(self, record: Record, events: Mapping[str, Any]) -> Record:
        """Keep the outcome of one clip; when this returns it is on the disk.

        Args:
            record: What was found now.
            events: Metric to events and series, as :func:`vmmetrics.scoring.record.result_to_json` gives them.

        Returns:
            The record as written: with what was known about the clip's other metrics. Where it holds what no file can
            (NaN, an object that is no JSON), the clip's record is an error instead.
        """
        with self._locks.holding(JOURNAL):
            self._take_in()
            whole = record.over(self.records.get(record.key))
            try:
                convert(Record, whole.to_json())  # nothing is written that would not be read
                if events:
                    about = {name: getattr(record, name) for name in ("clip", "path", "sha256", "frames", "fps")}
                    self._events.append([{**about, "metrics": dict(events)}])
                self._scores.append([whole.to_json()])  # last: where this line stands, the events stand too
            except (ValueError, TypeError) as error:
                texts = {name: getattr(record, name) for name in _TEXTS}  # and nothing else of it
                whole = Record(**texts, error=f"The record cannot be written: {error}")
                self._scores.append([whole.to_json()])
            self._take_in()
        return whole

    def close(self) -> None:
        """Drop the locks."""
        super().close()
        _open_here.discard(self.path)


_OURS = {
    "run.json", "run.lock", "scores.jsonl", "events.jsonl", "scores.csv", "scores.parquet", "breakdown.csv",
    "workers.log", "clips.jsonl",
}  # fmt: skip


def check_directory(path: Path) -> None:
    """Refuse, before models are loaded, what cannot become a run directory; nothing is left there.

    Raises:
        SetupError: It holds other files, or cannot be written.
    """
    check_folder(path, "run.json", _OURS, "scores")


_TEXTS = ("clip", "model", "path", "sha256", "preset", "protocol", "prompt", "prompt_source", "subject")


def described(parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What ``run.json`` says of single scores: ``parts``, and of which of them less is better; nothing for none."""
    if not parts:
        return {}
    lower = [name for name in in_order(parts) if parts[name].get("lower_is_better")]
    return {"parts": {name: parts[name] for name in in_order(parts)}, "lower_is_better": lower}


@dataclass(frozen=True, slots=True)
class _Configuration:
    """What every run's configuration has; the rest differs from suite to suite."""

    preset: str = ""
    protocol: str = ""
    label: str = ""
    comparable: bool = False
    models: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Header:
    """Fields of ``run.json``."""

    configuration: _Configuration
    metrics: tuple[str, ...]
    sessions: tuple[Mapping[str, Any], ...]
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lower_is_better: tuple[str, ...] = ()


def read_run_json(path: Path) -> dict[str, Any]:
    """Read ``run.json`` of a run directory.

    Raises:
        SetupError: There is none, it is damaged, or a later version wrote it.
    """
    file = path / "run.json"
    if not file.is_file():
        raise SetupError(f"{path} is no run directory: it has no run.json")
    run: dict[str, Any] = check(dict[str, Any], read_json(file), file)
    if run.get("format") != FORMAT:
        raise SetupError(f"{path} was written by another version of vmmetrics (format {FORMAT} expected)")
    check(_Header, run, file)
    return run


def read_records(path: Path, warnings: list[str] | None = None) -> list[Record]:
    """Newest record of every clip of a run directory, in order of name; a torn last line is left out.

    Args:
        path: Run directory.
        warnings: Takes what was passed over because it is damaged, in words; None where that was said before.

    Raises:
        SetupError: It is no run directory, or cannot be read.
    """
    read_run_json(path)
    journal = Journal(path / "scores.jsonl")
    try:
        newest = {record.key: record for record in journal.read_as(Record)}
    except OSError as error:
        raise cannot("read", journal.path, error) from error
    if warnings is not None:
        warnings += journal.warnings()
    return sorted(newest.values(), key=lambda record: record.clip)


@dataclass(frozen=True, slots=True)
class _Events:
    """Fields of a line of ``events.jsonl`` that every reader needs."""

    clip: str
    sha256: str | None
    metrics: Mapping[str, Any]
    path: str | None = None


def events_lines(path: Path, containing: bytes = b"", warnings: list[str] | None = None) -> Iterator[Line]:
    """Lines of ``events.jsonl`` that contain some bytes and name their clip; others are passed over, with a warning."""
    return iterate_lines(path / "events.jsonl", containing, _Events, warnings)


def read_events(path: Path, record: Record, warnings: list[str] | None = None) -> dict[str, Any]:
    """Events and series of a clip by metric, for the metrics its record has: the newest of each.

    Args:
        path: Run directory.
        record: The clip.
        warnings: Takes what was passed over because it is damaged, in words.
    """
    newest: dict[str, Any] = {}
    for line in events_lines(path, str(record.sha256).encode(), warnings):
        if (line.get("path") or line["clip"]) == record.key and line["sha256"] == record.sha256:
            newest.update(line["metrics"])
    return {metric: newest[metric] for metric in in_order(newest) if metric in record.settled()}
