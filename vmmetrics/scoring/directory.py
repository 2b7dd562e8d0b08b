"""The run directory: ``run.json``, ``scores.jsonl``, ``events.jsonl`` and the tables made from them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

from vmmetrics.errors import SetupError, cannot
from vmmetrics.metrics.registry import in_order
from vmmetrics.scoring.index import EVENTS, KEYS, SCORES, STATES, Entry, RunIndex
from vmmetrics.scoring.pictures import OVERLAYS, POSTERS, Pictures, keep_overlay, poster_line
from vmmetrics.scoring.record import Record, State
from vmmetrics.scoring.records import FORMAT, RunRecords, described, read_run_json
from vmmetrics.utils.schema import convert
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.atomic import write_json
from vmmetrics.utils.storage.job_folder import check_folder, prepare, refuse
from vmmetrics.utils.storage.journal import Journal, encode
from vmmetrics.utils.storage.lock import CONFIGURATION, JOURNAL, ByteLocks, Locked
from vmmetrics.video.discover import printable

GROUP_LINES, GROUP_SECONDS = 64, 0.5
"""Outcomes that are written together, and seconds that the first of them waits for others."""

# The system's locks do not tell two users within one process apart, so each process opens a directory once.
_open_here: set[Path] = set()


class RunDirectory(Locked):
    """One run on disk, new or resumed, shared by every process that opened it.

    Args:
        path: The directory; made if absent.
        configuration: What every score of the run depends on.
        session: Fields to record about this start: ``metrics`` and others.
        parts: What single scores depend on, by name; may be added to later, but not changed.
        delay: Seconds that an outcome may wait for others to be written with; 0 writes each at once.

    Attributes:
        path: The directory.
        begun: Bytes of ``scores.jsonl`` when it was opened; later lines are of this session or of a parallel one.
        warnings: Texts on damaged lines.

    Raises:
        SetupError: The directory holds a run of another configuration, or something else, or cannot be written.
    """

    def __init__(
        self,
        path: Path,
        configuration: Mapping[str, Any],
        session: Mapping[str, Any],
        parts: Mapping[str, Mapping[str, Any]] | None = None,
        delay: float = GROUP_SECONDS,
    ) -> None:
        prepare(path, "run.json", _OURS, "scores")
        self.path = path.resolve()
        self.warnings: list[str] = []
        self._delay = delay
        self._waiting: dict[str, _Outcome] = {}
        self._notes: list[dict[str, Any]] = []
        self._due, self._committed = inf, -inf  # by the monotonic clock
        self._in_doubt = False
        self._index: RunIndex | None = None
        if self.path in _open_here:
            raise SetupError(f"{self.path} is already open in this process")
        self._scores, self._events, self._states = (Journal(self.path / name) for name in (SCORES, EVENTS, STATES))
        self._posters = Journal(self.path / POSTERS)
        try:
            self._locks = ByteLocks(self.path / "run.lock")
            _open_here.add(self.path)
            try:
                with self._locks.holding(CONFIGURATION):
                    self._join(configuration, session, parts or {})
                with self._locks.holding(JOURNAL):
                    self.warnings += self._scores.mend() + self._events.mend() + self._states.mend()
                    self.warnings += self._posters.mend()
                    self._index = RunIndex(self.path)
                    self.begun = self._index.read
                self.warnings += self._index.warnings("; its clip is scored again")
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
            run = _joined(self.path, configuration, parts) | {"format": FORMAT}  # what format 1 wrote is read as it is
            now = json.loads(json.dumps(configuration))
            if changed := provenance.differences(now, run["configuration"]):  # the release, then
                self.warnings.append(f"the run is resumed with other versions: {', '.join(changed)}")
                run["configuration"] = now
        run["metrics"] = list(in_order([*run["metrics"], *session.get("metrics", ())]))
        run |= described({**run.get("parts", {}), **parts})
        run["sessions"].append({"started": provenance.now(), "ended": None, "begin": None, **session})
        self._session = len(run["sessions"]) - 1
        write_json(path, run)

    def begin(self, settled: int) -> None:
        """Note how many clips of the session were settled before it, and where its outcomes and later ones begin."""
        self._note(begin={"settled": settled, "offset": self.begun})

    def _note(self, **fields: Any) -> None:
        """Note something of this session."""
        with self._locks.holding(CONFIGURATION):
            run = read_run_json(self.path)
            run["sessions"][self._session] |= fields
            write_json(self.path / "run.json", run)

    def end(self) -> None:
        """Note that the session is complete; one that was stopped or killed never is."""
        self._note(ended=provenance.now())

    @property
    def _entries(self) -> RunIndex:
        assert self._index is not None  # noqa: S101  (from the end of the constructor on)
        return self._index

    def refresh(self) -> None:
        """Read the lines that other processes appended since."""
        with self._locks.holding(JOURNAL):
            self._entries.update()

    def entries(self, keys: Sequence[str]) -> dict[str, Entry]:
        """Return the entries of the clips with these keys on disk, as of the last :meth:`refresh`."""
        return self._entries.entries(keys)

    def check_names(self, clips: Mapping[str, str]) -> None:
        """Refuse clips that the run has under other names, and names that it has for other clips.

        Args:
            clips: Name by key. A clip in a folder of models that the run was scored from has its name by that folder.

        Raises:
            SetupError: One was scored from another folder.
        """
        known = dict(self._entries.names("key", list(clips)))
        taken = {
            name: key for key, name in self._entries.names("clip", [n for k, n in clips.items() if k not in known])
        }
        for key, name in clips.items():
            below = (printable(key.removeprefix(root)) for root in self._model_roots if key.startswith(root))
            expected = known.get(key) or next(below, name)
            if expected != name:
                inside = key.endswith(f"/{expected}")
                folder = key.removesuffix(f"/{expected}") if inside else "the folder that this run was scored from"
                raise SetupError(
                    f"{key} is called {expected} in {self.path}, not {name}: score {folder} (scored clips are not "
                    "scored again), or choose another --out"
                )
            if name in taken:
                raise SetupError(
                    f"{self.path} has {taken[name]} as {name}, so {key} cannot be: score the folder that holds both, "
                    "with another --out"
                )

    @cached_property
    def _model_roots(self) -> set[str]:
        """Folders of models that the first clips of the run lie in."""
        records = RunRecords(self._scores.path, self._entries.offsets()[:_LOOKED_AT])
        inside = (record for record in records if record.model is not None and record.key.endswith(f"/{record.clip}"))
        return {record.key.removesuffix(record.clip) for record in inside}

    def newest(self, key: str) -> Record | None:
        """Return the newest record of a clip, written or waiting to be."""
        if key in self._waiting:
            return self._waiting[key].record
        offset = self._entries.offsets_of([key]).get(key)
        return None if offset is None else RunRecords(self._scores.path, [offset])[0]

    def records(self, keys: Iterable[str]) -> RunRecords:
        """Return the newest records of clips that have one, in the order of their keys; read when they are asked for.

        Raises:
            KeyError: One has none.
        """

        def offsets() -> Iterator[int]:
            rest = iter(keys)
            while block := list(islice(rest, KEYS)):
                by_key = self._entries.offsets_of(block)
                yield from (by_key[key] for key in block)

        return RunRecords(self._scores.path, offsets())

    def append(self, record: Record, events: Mapping[str, Any], pictures: Pictures | None = None) -> Record:
        """Store the outcome of one clip; it is on disk after ``delay`` seconds at the latest.

        That holds as long as :meth:`commit_due` is called; :meth:`commit` writes at once.

        Args:
            record: The new record.
            events: Metric to events and series, as :func:`vmmetrics.scoring.record.result_to_json` gives them.
            pictures: Poster and overlay of the clip.

        Returns:
            The record as written, merged with older scores of other metrics. Where it holds what no file can
            (NaN, an object that is not JSON), the clip's record is an error instead.
        """
        merged, lines, poster = record.over(self.newest(record.key)), b"", b""
        try:
            values = merged.to_json()
            convert(Record, values)  # nothing is written that would not be read
            if events:
                fields = {name: getattr(record, name) for name in ("clip", "path", "sha256", "frames", "fps")}
                lines = encode({**fields, "metrics": dict(events)})
            line = encode(values)
            if pictures is not None and record.sha256 is not None:
                poster = self._keep(record, record.sha256, pictures)
        except (ValueError, TypeError) as error:
            texts = {name: getattr(record, name) for name in _TEXTS}  # and nothing else of it
            merged, lines = Record(**texts, error=f"The record cannot be written: {error}"), b""
            line = encode(merged.to_json())
        before = self._waiting.get(record.key)
        self._waiting[record.key] = _Outcome(merged, line, (before.events if before else b"") + lines, poster)
        self._commit_soon()
        return merged

    def _keep(self, record: Record, sha256: str, pictures: Pictures) -> bytes:
        """Store the overlay of a clip; return the line of its poster."""
        if pictures.overlay:
            keep_overlay(self.path, sha256, pictures.overlay)
        if not pictures.poster:
            return b""
        return encode(poster_line(record.clip, record.path, sha256, pictures.poster))

    def note_state(self, key: str, sha256: str, state: State) -> None:
        """Note that a file with a new modification time has the scored content, so that it is not hashed again."""
        self._notes.append({"key": key, "sha256": sha256, "state": dict(state)})
        self._commit_soon()

    def _commit_soon(self) -> None:
        """Write now, or after a pause since the last write, together with outcomes that arrive until then."""
        self._due = min(self._due, self._committed + self._delay)
        self.commit_due()

    def commit_due(self) -> float:
        """Write outcomes that are due; return the seconds until the next ones are, infinite without any."""
        left = self._due - time.monotonic()
        if left <= 0 or len(self._waiting) + len(self._notes) >= GROUP_LINES:
            self.commit()
            return inf
        return left

    def commit(self) -> None:
        """Write all waiting outcomes; they are on disk when this returns.

        Raises:
            SetupError: The disk is full or failing, or files were removed.
        """
        if not self._waiting and not self._notes:
            return
        with self._locks.holding(JOURNAL):
            if self._in_doubt:  # it was interrupted the last time: what had been written is not written again
                self._entries.update()
                for key, offset in self._entries.offsets_of(list(self._waiting)).items():
                    if RunRecords(self._scores.path, [offset])[0] == self._waiting[key].record:
                        del self._waiting[key]
            self._in_doubt = True
            events = b"".join(outcome.events for outcome in self._waiting.values())
            for journal, data in (
                (self._events, events),
                (self._posters, b"".join(outcome.poster for outcome in self._waiting.values())),
                # after the events: its line marks them complete
                (self._scores, b"".join(outcome.line for outcome in self._waiting.values())),
                (self._states, b"".join(map(encode, self._notes))),
            ):
                if data:
                    journal.write(data)
            self._entries.update()
            done = [key for key, outcome in self._waiting.items() if outcome.released]
            self._waiting, self._notes, self._due, self._in_doubt = {}, [], inf, False
            self._committed = time.monotonic()
        for key in done:
            super().release(key)

    def release(self, key: str) -> None:
        """Release the claim on a clip, once its outcome is on disk."""
        if key in self._waiting:
            self._waiting[key].released = True
        else:
            super().release(key)

    def close(self) -> None:
        """Write all waiting outcomes, and drop the locks."""
        try:
            if self._index is not None:
                self.commit()
        finally:
            if self._index is not None:
                self._index.close()
            super().close()
            _open_here.discard(self.path)


@dataclass(slots=True)
class _Outcome:
    """An outcome that waits to be written."""

    record: Record
    line: bytes
    events: bytes
    poster: bytes
    released: bool = False


_LOOKED_AT = 1000  # records, for the folders of models

_OURS = {
    "run.json", "run.lock", SCORES, EVENTS, STATES, "scores.csv", "scores.parquet", "breakdown.csv", "workers.log",
    "clips.jsonl", POSTERS, OVERLAYS, "index.sqlite", "index.sqlite-journal",  # the last two of releases before 0.3
}  # fmt: skip


def check_directory(
    path: Path, configuration: Mapping[str, Any] | None = None, parts: Mapping[str, Mapping[str, Any]] | None = None
) -> None:
    """Refuse a path that cannot become a run directory; writes nothing that stays.

    Args:
        path: The directory.
        configuration: What it must have been scored with if it is a run; None where the models are not loaded yet.
        parts: As for :class:`RunDirectory`.

    Raises:
        SetupError: It holds other files or a run of another configuration, or cannot be written.
    """
    check_folder(path, "run.json", _OURS, "scores")
    if configuration is not None and (path / "run.json").exists():
        _joined(path, configuration, parts or {})


def _joined(path: Path, configuration: Mapping[str, Any], parts: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``run.json`` of the directory.

    Raises:
        SetupError: It was scored with another configuration.
    """
    run: dict[str, Any] = read_run_json(path)
    different = provenance.conflicts(json.loads(json.dumps(configuration)), run["configuration"])
    for name, part in run.get("parts", {}).items():
        if name in parts:
            different += provenance.differences(json.loads(json.dumps(parts[name])), part, f"{name}.")
    refuse(different, f"{path} was scored with another configuration", "use the settings of that run")
    return run


_TEXTS = ("clip", "model", "path", "sha256", "preset", "protocol", "prompt", "prompt_source", "subject")
