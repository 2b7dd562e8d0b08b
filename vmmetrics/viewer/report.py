"""Reports of runs: a folder with a page on which people look at scores, clips and events."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import quote

from vmmetrics.alignment.readers.judgements import RatingOptions
from vmmetrics.metrics.registry import in_order
from vmmetrics.scoring.anchors import Scale
from vmmetrics.scoring.own_index import read_index
from vmmetrics.scoring.prompt_scores import Run
from vmmetrics.scoring.records import opened_events
from vmmetrics.scoring.summary import INDEX
from vmmetrics.scoring.table import with_index
from vmmetrics.utils.schema import with_texts
from vmmetrics.utils.version import __version__
from vmmetrics.viewer.columns import Columns, metric_info
from vmmetrics.viewer.comparisons import comparisons_of
from vmmetrics.viewer.details import CLIPS_PER_SHARD, detail_of, faults_of, results_of
from vmmetrics.viewer.folder import INDEX_PAGE, earlier_report, making_report, write_page, write_shard, write_single
from vmmetrics.viewer.human_ratings import RatedClips
from vmmetrics.viewer.media import MediaFolder
from vmmetrics.viewer.pictures import (
    drawable,
    estimate,
    redraw_overlays,
    seconds_per_clip,
    worst,
    write_overlays,
    write_posters,
)
from vmmetrics.viewer.selection import Row, Selection, rows_of, select
from vmmetrics.viewer.sources import RunPath, Source, describe_run, groups_of, read_sources
from vmmetrics.viewer.texts import Texts, legible

FORMAT = 1
"""Version of the data, in the index."""
TITLE = "Motion report"
MediaMode = Literal["link", "copy", "transcode"]
_NOTHING_STATED = RatingOptions()
_NO_VIDEO = "no video: "
_MOST_WARNINGS, _MOST_REASONS = 20, 8


class Listener(Protocol):
    """Progress of a report."""

    def begin(self, stage: str, total: int) -> None:
        """Start a stage of so many clips."""

    def advance(self) -> None:
        """Count a clip of the stage."""


class _Silent:
    """A listener that does nothing."""

    def begin(self, stage: str, total: int) -> None: ...

    def advance(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written.

    Attributes:
        path: The page to open.
        clips: Clips that it lists.
        left_out: Number of clips by reason why they, their videos or their overlays are left out.
        warnings: Texts on damaged parts of the runs.
    """

    path: Path
    clips: int
    left_out: Mapping[str, int]
    warnings: tuple[str, ...]


def write_report(
    runs: RunPath | Sequence[RunPath],
    out: str | os.PathLike[str],
    *,
    media: MediaMode = "link",
    clips: str | os.PathLike[str] = "all",
    single_file: bool = False,
    overlays: int | None = None,
    fetch: bool = False,
    index: RunPath | None = None,
    ratings: RunPath | Sequence[RunPath] = (),
    rating_options: RatingOptions = _NOTHING_STATED,
    show_paths: bool = False,
    title: str = TITLE,
    listener: Listener | None = None,
) -> Report:
    """Write a report of runs: a folder that opens in a browser without a server and makes no network request.

    Args:
        runs: Run directories, the baseline first; ``"NAME=DIRECTORY"`` names one.
        out: Folder to write; absent, empty, or an earlier report, which is replaced.
        media: ``"link"`` leaves videos that browsers play where they are, and transcodes others; ``"copy"`` makes a
            folder that can be moved; ``"transcode"`` transcodes all.
        clips: ``"all"``, ``"worst:200"`` or a file with a clip's name a line. Statistics are over all clips.
        single_file: Write one HTML file with everything in it, of 50 MB at most.
        overlays: Largest number of overlays to draw again where runs kept none, worst clips first; None draws what
            takes :data:`~vmmetrics.viewer.pictures.SECONDS` by the times of scoring, in runs of preset ``embedded``.
        fetch: Fetch clips from the addresses that runs name, to copy or draw them; none is contacted otherwise.
        index: File of ``vmmetrics calibrate``, whose index is computed from the scores and ranks clips and models.
        ratings: Files with human ratings of clips, in any form that ``vmmetrics align`` reads; ``"RUN=FILE"``
            holds those of one run.
        rating_options: What the files do not say about their columns and scales.
        show_paths: Keep absolute paths, which are left out otherwise.
        title: Title of the page.
        listener: Receives the progress.

    Returns:
        What was written.

    Raises:
        SetupError: A run cannot be read, ``out`` holds something else or cannot be written, ``clips`` names a clip that
            no run has, or there are too many clips or bytes for one page.
    """
    target = Path(out).absolute()
    previous = earlier_report(target)
    own = None if index is None else read_index(index)[0].name
    sources = read_sources(runs, index)
    selection = select(sources, clips, own or INDEX)
    texts = Texts.of_runs([source.run for source in sources], show_paths)
    with making_report(target) as folder:
        mode: MediaMode = "copy" if single_file and media == "link" else media
        media_folder = MediaFolder(target, folder, mode, previous, fetch=fetch)
        contents = _Contents(folder, media_folder, texts, listener or _Silent())
        files = [ratings] if isinstance(ratings, str | os.PathLike) else list(ratings)
        rated = None
        if files:
            paths, of_runs = [os.fspath(file) for file in files], [source.run for source in sources]
            rated = RatedClips.read(paths, of_runs, selection, rating_options)
        whole = contents.write(sources, selection, overlays, rated, own)
        write_page(folder, {"format": FORMAT, "title": legible(title), **whole})
        if single_file:
            write_single(folder)
    return Report(target / INDEX_PAGE, len(selection), contents.summary(), tuple(contents.warnings))


@dataclass(slots=True)
class _Contents:
    """Contents of a report that is being written.

    Attributes:
        folder: The report.
        media: Its videos.
        texts: Removes paths and hosts.
        listener: Receives the progress.
        warnings: Texts on what is damaged.
        left_out: Number of clips by reason.
    """

    folder: Path
    media: MediaFolder
    texts: Texts
    listener: Listener
    warnings: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def write(
        self, sources: Sequence[Source], selection: Selection, overlays: int | None, rated: RatedClips | None,
        by: str | None,
    ) -> dict[str, Any]:  # fmt: skip
        """Write details, pictures and videos of the clips; return the index, models ranked by a column."""
        runs = [source.run for source in sources]
        rows = rows_of(sources, selection, self.texts)
        positions = [{row.record.key: row.number for row in of_run} for of_run in rows]
        metrics = metrics_of(runs)
        if shown := sum(len(run.records) for run in runs) - len(selection):
            self.left_out[selection.reason] = shown
        posters, drawn = self._pictures(runs, rows, overlays)
        columns = Columns(metrics, tags_of(runs))
        self._clips(runs, rows, columns, posters, drawn, rated)
        if rated is not None:
            columns.add_scores(rated.columns())
        damage = [f"{run.title}: {text}" for run in runs for text in run.warnings]
        self.warnings = list(dict.fromkeys(map(self.texts, [*damage, *self.warnings])))
        groups = groups_of(sources)
        return {
            "provenance": self._provenance(runs, len(selection), rated),
            "runs": [describe_run(source, group, self.texts) for source, group in zip(sources, groups, strict=True)],
            "metrics": [*metrics, *(with_texts(rated.ratings.metrics(), self.texts) if rated else ())],
            **columns.to_json(),
            "bases": self.media.bases,
            **with_texts(comparisons_of(runs, positions, by), self.texts),
            "shard": CLIPS_PER_SHARD,
            **({"agreement": rated.agreement(metrics)} if rated else {}),
        }

    def _pictures(
        self, runs: Sequence[Run], rows: Sequence[Sequence[Row]], most: int | None
    ) -> tuple[set[int], set[int]]:
        """Write posters and overlays; return the numbers of the clips that have them."""
        posters: set[int] = set()
        drawn: set[int] = set()
        for run, of_run in zip(runs, rows, strict=True):
            numbers = {(row.record.key, row.record.sha256): row.number for row in of_run}
            posters |= write_posters(run.path, numbers, self.folder / "posters", self.warnings)
            drawn |= write_overlays(run.path, of_run, self.folder, self.warnings)
        without = [row for of_run in rows for row in of_run if row.number not in drawn and drawable(row)]
        seconds = seconds_per_clip(row.record for row in without)
        if chosen := worst(without, most):
            what = "1 overlay" if len(chosen) == 1 else f"{len(chosen)} overlays"
            self.listener.begin(f"drawing {what} again, {estimate(seconds, len(chosen))}", len(chosen))
            for number, run in enumerate(runs):
                of_run = [row for row in chosen if row.run == number]
                drawn |= redraw_overlays(
                    run.path, of_run, self.folder, self.warnings, self.listener.advance, fetch=self.media.fetch
                )
        if len(without) > len(chosen):
            about = f", about {seconds:.1g} s a clip" if seconds else ""
            reason = f"no overlay: the run kept none (--overlays N draws those of the worst N again{about})"
            self.left_out[reason] = len(without) - len(chosen)
        return posters, drawn

    def _clips(
        self, runs: Sequence[Run], rows: Sequence[Sequence[Row]], columns: Columns, posters: set[int],
        drawn: set[int], rated: RatedClips | None,
    ) -> None:  # fmt: skip
        """Write details and videos of the clips, and fill the columns."""
        total = sum(map(len, rows))
        self.listener.begin("clips", total)
        details: list[dict[str, Any]] = []
        for run, of_run in zip(runs, rows, strict=True):
            scale = Scale(run.configuration)
            with opened_events(run.path, self.warnings) as events_of:
                for row in of_run:
                    results = results_of(row, events_of(row.record), self.warnings)
                    columns.add(
                        row,
                        faults=faults_of(results, row),
                        media=self._video(row, columns),
                        poster=row.number in posters,
                        overlay=row.number in drawn,
                        places=scale.places(with_index(row.record), row.record.score_version),
                    )
                    details.append(detail_of(row, results, rated.of_clip(row.number) if rated else {}))
                    if len(details) == CLIPS_PER_SHARD or len(columns) == total:
                        write_shard(self.folder, row.number // CLIPS_PER_SHARD, details)
                        details = []
                    self.listener.advance()

    def _video(self, row: Row, columns: Columns) -> int | str:
        """Return the place of a clip's video as ``clips.media`` has it."""
        placed = self.media.place(row.record)
        if placed.url is not None:
            return placed.url
        if placed.base is None:
            reason = row.text(placed.reason or "no video")
            self.left_out[_NO_VIDEO + reason] += 1
            return -1 - columns.reasons[reason]
        if row.name != row.record.clip:
            return self.media.bases[placed.base] + quote(os.fsencode(row.record.clip))
        return placed.base

    def summary(self) -> dict[str, int]:
        """Return the number of clips by reason, those of rare reasons together: a reason may name its clip."""
        videos = Counter({reason: n for reason, n in self.left_out.items() if reason.startswith(_NO_VIDEO)})
        rare = dict(videos.most_common()[_MOST_REASONS:])
        frequent = {reason: clips for reason, clips in self.left_out.items() if reason not in rare}
        return {**frequent, f"{_NO_VIDEO}other reasons": sum(rare.values())} if rare else frequent

    def _provenance(self, runs: Sequence[Run], shown: int, rated: RatedClips | None) -> dict[str, Any]:
        total = sum(len(run.records) for run in runs)
        notes = [f"{shown:,} of {total:,} clips are listed; statistics are over all."] if shown < total else []
        notes += map(self.texts, rated.ratings.notes if rated else ())
        more = len(self.warnings) - _MOST_WARNINGS
        notes += self.warnings[:_MOST_WARNINGS] + ([f"{more:,} more warnings"] if more > 0 else [])
        left_out = [{"reason": reason, "clips": clips} for reason, clips in self.summary().items()]
        return {"vmmetrics": __version__, "notes": notes, "total": total, "shown": shown, "left_out": left_out}


def metrics_of(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Return the descriptions of the scores that any clip has or lacks, in order of display."""
    records = [record for run in runs for record in run.records]
    keys = in_order({metric for record in records for metric in (*record.scores, *record.missing, *record.errors)})
    indexed = any(record.index_or_zero is not None for record in records)
    described = {key: part for run in runs for key, part in run.header.get("parts", {}).items()}
    return [metric_info(key, described.get(key)) for key in ((INDEX,) if indexed else ()) + keys]


def tags_of(runs: Sequence[Run]) -> list[str]:
    """Return the names of the tags, the pattern first."""
    tags = {tag for run in runs for record in run.records for tag in record.tags}
    return sorted(tags, key=lambda tag: (tag != "pattern", tag))
