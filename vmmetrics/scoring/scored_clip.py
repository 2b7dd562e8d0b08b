"""Recall of a scored clip from its run: record, results, frames and perception."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vmmetrics.clip import Clip, Subject
from vmmetrics.errors import ClipError, SetupError, os_reason
from vmmetrics.perception.presets import preset_names
from vmmetrics.scoring.anchors import Scale
from vmmetrics.scoring.record import Record, result_from_json
from vmmetrics.scoring.records import read_events, read_records, read_run_json
from vmmetrics.scoring.settings import Settings
from vmmetrics.scoring.show.findings import Findings, Perceived, explain, perceive, scaled_result
from vmmetrics.scoring.show.overlay import read_overlay
from vmmetrics.scoring.table import with_index
from vmmetrics.types import MetricResult, Protocol
from vmmetrics.utils.display.markup import listed
from vmmetrics.utils.schema import check
from vmmetrics.utils.storage import provenance
from vmmetrics.utils.storage.addresses import address_of, is_web, safe_name
from vmmetrics.utils.storage.remote import check_address
from vmmetrics.utils.storage.scratch import Scratch
from vmmetrics.utils.storage.state import FileState
from vmmetrics.video import ASSUME_FPS, read_clip, sample_clip
from vmmetrics.video.budget import DEFAULT_MAX_MEMORY
from vmmetrics.video.content import fingerprint, is_there


@dataclass(frozen=True)
class Recalled:
    """A clip with its record and results.

    Attributes:
        record: Its record.
        clip: Its frames, read with the run's options.
        findings: Its results, with events and series as stored.
        perceived: Perception results stored with the scores, or computed now.
        warnings: Texts on differences between the run and this machine.
    """

    record: Record
    clip: Clip
    findings: Findings
    perceived: Perceived
    warnings: tuple[str, ...]


def recall(run: Path, name: str, *, fetch: bool = False) -> Recalled:
    """Recall a clip of a run.

    Args:
        run: Run directory.
        name: The clip's name in the run, its path, or a file of this machine that has its content.
        fetch: Contact the address of a clip that was not scored from this machine's disk; the run names it.

    Raises:
        SetupError: It is not a run directory, the clip is not in it, or the run's models are not here.
        ClipError: The clip could not be scored, or its file has moved or changed since.
    """
    header = read_run_json(run)
    warnings: list[str] = []
    record, local_file = _named(read_records(run, warnings), name)
    if record.error is not None:
        raise ClipError(f"{record.clip} could not be scored, so there is nothing to draw: {record.error}")
    configuration = header["configuration"]
    if configuration.get("preset") not in preset_names():
        raise SetupError(f"{run} holds scores of {configuration.get('preset')}, which have nothing to draw")
    stored = check(_Configuration, configuration, f"{run / 'run.json'}, configuration")
    reading = asdict(stored.reading)
    subject = None
    if record.subject is not None:
        subject = check(Subject, record.subject, f"{run / 'scores.jsonl'}, subject of {record.clip}")
    with unchanged(record, fetch) if local_file is None else nullcontext(local_file) as path:
        if record.windows:  # perception of the whole would not fit the memory, its frames do at a smaller size
            clip = sample_clip(path, lambda times, _: range(len(times)), max_memory=stored.reading.max_memory)
        else:
            clip = read_clip(path, name=record.clip, prompt=record.prompt, subject=subject, tags=record.tags, **reading)
    results: dict[str, MetricResult] = {}
    for metric, line in read_events(run, record, warnings).items():
        try:
            results[metric] = _result(metric, line, record, len(clip))
        except ValueError as error:
            warnings.append(f"events.jsonl, {metric} of {record.clip}, {error}; left out, score the clip again")
    perceived = None if record.sha256 is None else read_overlay(run, record.sha256)
    if record.windows:  # boxes and overlay are in the pixels of the windows
        pixels = _scale(record, clip)
        results = {metric: scaled_result(result, pixels) for metric, result in results.items()}
        if perceived is None:
            warnings.append("scored in windows, and the run kept no overlay: masks, tracks and skeletons are not drawn")
        perceived = (perceived or Perceived()).scaled(pixels)
    if perceived is None:
        settings = Settings(stored.preset, stored.protocol, reading=tuple(reading.items()))
        suite = settings.build()
        different = provenance.differences(settings.configuration(suite), configuration)
        warnings += [f"{line}; masks and tracks may differ from those that were scored" for line in different]
        scene = suite.scene(clip)
        if not warnings:  # these are the models that scored it
            results = explain(scene, results)
        perceived = perceive(scene, results)
    scale, scores = Scale(configuration), with_index(record)
    findings = Findings(
        record.clip, stored.label, results, record.errors, record.prompt, scale.places(scores, record.score_version),
        scale.text(scores, record.score_version), record.motion_index, record.index_remark,
    )  # fmt: skip
    return Recalled(record, clip, findings, perceived, tuple(warnings))


@dataclass(frozen=True, slots=True)
class _Reading:
    """Options of the reader in ``run.json``; others are refused."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - no field

    assume_fps: float = ASSUME_FPS
    max_memory: int = DEFAULT_MAX_MEMORY


@dataclass(frozen=True, slots=True)
class _Configuration:
    """Fields used of a run's configuration."""

    preset: str
    protocol: Protocol
    label: str
    reading: _Reading


def _result(metric: str, line: Any, record: Record, num_frames: int) -> MetricResult:
    """Return a stored result whose frames are in the clip.

    Raises:
        ValueError: It is not a result of this clip.
    """
    result = result_from_json(metric, line, record.scores.get(metric), record.missing.get(metric))
    beyond = [frame for event in result.events for frame in event.frames if not 0 <= frame < num_frames]
    if beyond:
        raise ValueError(f"events: expected frame indices below {num_frames} but got {beyond[0]}")
    empty = [name for name, values in result.series.items() if not values.size]
    if empty:
        raise ValueError(f"series.{empty[0]}: expected values but got none")
    return result


def _scale(record: Record, clip: Clip) -> tuple[float, float]:
    """Return pixels of the clip as read whole per pixel of the windows that were scored."""
    upright = record.upright_size(clip.width / clip.height)
    width, height = record.scored_size or upright or (clip.width, clip.height)
    return clip.width / width, clip.height / height


def find(records: Sequence[Record], name: str) -> Record:
    """Return the record of the clip called ``name``: its name in the run, its path, or a file name that only one has.

    Raises:
        SetupError: There is none, or several.
    """
    for matches in (
        [r for r in records if r.clip == name],
        [r for r in records if r.path is not None and (r.path == name or Path(r.path) == Path(name).absolute())],
        [r for r in records if r.clip.rpartition("/")[2] == name],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            raise SetupError(
                f"Several clips are called {name}: {listed([r.clip for r in matches], 4)}; give the full name"
            )
    near = difflib.get_close_matches(name, [r.clip for r in records], n=3, cutoff=0.4)
    raise SetupError(f"The run has no clip {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))


def _named(records: Sequence[Record], name: str) -> tuple[Record, Path | None]:
    """Return the record of a name, and the file of that name if it has the record's content.

    Raises:
        SetupError: There is none, or several.
    """
    file, sha256 = Path(name), None
    with suppress(OSError):  # the record's own path may do
        sha256 = fingerprint(file) if is_there(file) else None
    same = [record for record in records if sha256 is not None and record.sha256 == sha256]
    try:
        record = find(records, name)
    except SetupError:
        if len(same) != 1:
            raise
        record = same[0]
    return record, file if record in same else None


@contextmanager
def unchanged(record: Record, fetch: bool) -> Iterator[Path]:
    """Yield the file of a clip; one at an address is downloaded for the block, if ``fetch``.

    Raises:
        ClipError: It is gone or has changed, or is at an address that is not to be contacted.
    """
    if record.path is None:
        raise ClipError(f"{record.clip} was handed in as an array, and the run keeps no frames: nothing to draw on")
    address = address_of(record.path)
    if address is not None:
        if is_web(address) and "?" in address:
            raise ClipError(
                f"{record.clip} cannot be fetched: its address was stored as {address}, without the query, which may "
                "hold a secret; download the clip and name the file instead"
            )
        if not fetch:
            raise ClipError(f"{record.clip} is at {safe_name(address)}: --fetch fetches it from there")
        check_address(address)
        scratch = Scratch()
        scratch.sweep()
        try:
            fetched = scratch.fetch(address, FileState())
            if fetched.sha256 != record.sha256:
                raise ClipError(f"{address} has changed since it was scored; score it again, then draw it")
            yield fetched.path
        finally:
            scratch.discard()
        return
    path = Path(record.path)
    try:
        sha256 = fingerprint(path) if path.is_absolute() and is_there(path) else None
    except OSError as error:
        raise ClipError(f"{path} cannot be read: {os_reason(error)}; score it where it is now") from error
    if sha256 is None:
        raise ClipError(f"{record.clip} is no longer at {path}; put it back, or score it where it is now")
    if sha256 != record.sha256:
        raise ClipError(f"{path} has changed since it was scored; score it again, then draw it")
    yield path
