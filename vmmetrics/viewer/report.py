"""Reports of runs: a folder with a page on which people look at scores, clips and events."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from vmmetrics.metrics.registry import in_order
from vmmetrics.scoring.pictures import overlays
from vmmetrics.scoring.records import opened_events
from vmmetrics.scoring.summary import INDEX
from vmmetrics.utils.version import __version__
from vmmetrics.viewer.columns import Columns, metric_info
from vmmetrics.viewer.comparisons import comparisons_of
from vmmetrics.viewer.details import CLIPS_PER_SHARD, detail_of, faults_of, results_of
from vmmetrics.viewer.folder import INDEX_PAGE, earlier_report, making_report, write_overlay, write_page, write_shard
from vmmetrics.viewer.media import MediaFolder
from vmmetrics.viewer.posters import write_posters
from vmmetrics.viewer.rows import Row, rows_of
from vmmetrics.viewer.selection import Selection, select
from vmmetrics.viewer.single import write_single
from vmmetrics.viewer.sources import RunPath, Source, describe_run, groups_of, read_sources
from vmmetrics.viewer.texts import Texts, clean_json, legible

FORMAT = 1
"""Version of the data, in the index."""
TITLE = "Motion report"
Media = Literal["link", "copy", "transcode"]
Listener = Callable[[int, int], None]
_MOST_WARNINGS = 20
_MOST_OVERLAY_BYTES = 8 << 20  # gzipped; those that scoring keeps have 1 to 40 KB


@dataclass(frozen=True, slots=True)
class Report:
    """A report that was written.

    Attributes:
        path: The page to open.
        clips: Clips that it lists.
        left_out: Number of clips by reason why they or their videos are left out.
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
    media: Media = "link",
    clips: str | os.PathLike[str] = "all",
    single_file: bool = False,
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
        clips: ``"all"``, ``"worst:200"`` or a file with a clip's name a line. Statistics are over all clips in any case.
        single_file: Write one HTML file with everything in it, of 50 MB at most.
        show_paths: Keep absolute paths, which are left out otherwise.
        title: Title of the page.
        listener: Called with the number of clips done, and of all that are listed.

    Returns:
        What was written.

    Raises:
        SetupError: A run cannot be read, ``out`` holds something else or cannot be written, ``clips`` names a clip that
            no run has, or there are too many clips or bytes for one page.
    """
    target = Path(out).absolute()
    previous = earlier_report(target)
    sources = read_sources(runs)
    selection = select(sources, clips)
    texts = Texts.of_runs([source.run for source in sources], show_paths)
    with making_report(target) as folder:
        placed = MediaFolder(target, folder, media, previous)
        contents = _Contents(folder, placed, texts)
        index = contents.write(sources, selection, listener or (lambda done, total: None))
        write_page(folder, {"format": FORMAT, "title": legible(title), **index})
        if single_file:
            write_single(folder)
    left_out = {entry["reason"]: entry["clips"] for entry in index["provenance"]["left_out"]}
    return Report(target / INDEX_PAGE, len(selection), left_out, tuple(contents.warnings))


@dataclass(slots=True)
class _Contents:
    """What is written of the clips.

    Attributes:
        folder: The report.
        media: Its videos.
        texts: Removes paths and hosts.
        warnings: Texts on what is damaged.
        without_video: Clips without a video, by reason.
    """

    folder: Path
    media: MediaFolder
    texts: Texts
    warnings: list[str] = field(default_factory=list)
    without_video: Counter[str] = field(default_factory=Counter)

    def write(self, sources: Sequence[Source], selection: Selection, listener: Listener) -> dict[str, Any]:
        """Write details and pictures of the clips; return the index."""
        metrics = metrics_of(sources)
        columns = Columns(metrics, tags_of(sources))
        details: list[dict[str, Any]] = []
        rows = rows_of(sources, selection, self.texts)
        for row, lines, poster, overlay in self._clips(sources, rows):
            results = results_of(row, lines, self.warnings)
            video = self._video(row, columns)
            columns.add(row, faults=faults_of(results, row), media=video, poster=poster, overlay=overlay, ratings={})
            details.append(detail_of(row, results, {}))
            if len(details) == CLIPS_PER_SHARD or len(columns) == len(selection):
                write_shard(self.folder, row.number // CLIPS_PER_SHARD, details)
                details = []
            listener(len(columns), len(selection))
        damage = [f"{source.name}: {text}" for source in sources for text in source.run.warnings]
        self.warnings = list(dict.fromkeys(map(self.texts, [*damage, *self.warnings])))
        groups = groups_of(sources)
        positions = [{row.record.key: row.number for row in of_run} for of_run in rows]
        comparisons = comparisons_of([source.run for source in sources], positions)
        return {
            "provenance": self._provenance(sources, selection),
            "runs": [describe_run(source, group, self.texts) for source, group in zip(sources, groups, strict=True)],
            "metrics": metrics,
            **columns.to_json(),
            "bases": self.media.bases,
            **clean_json(comparisons, self.texts),
            "shard": CLIPS_PER_SHARD,
        }

    def _clips(
        self, sources: Sequence[Source], rows: Sequence[Sequence[Row]]
    ) -> Iterator[tuple[Row, dict[str, Any], bool, bool]]:
        """Yield every clip with its events and whether it has a poster and an overlay, which are written."""
        for source, of_run in zip(sources, rows, strict=True):
            numbers = {(row.record.key, row.record.sha256): row.number for row in of_run}
            posters = write_posters(source.run.path, numbers, self.folder / "posters", self.warnings)
            stored = dict(overlays(source.run.path))
            with opened_events(source.run.path, self.warnings) as events_of:
                for row in of_run:
                    overlay = stored.get(row.record.sha256 or "")
                    drawn = overlay is not None and self._keep_overlay(row, overlay)
                    yield row, events_of(row.record), row.number in posters, drawn

    def _keep_overlay(self, row: Row, file: Path) -> bool:
        """Write the overlay in a run directory; return False where it is no overlay."""
        data = file.read_bytes()
        if not data.startswith(b"\x1f\x8b") or len(data) > _MOST_OVERLAY_BYTES:
            if data:  # empty: the power went before it was on the disk
                self.warnings.append(f"the overlay of {row.name} is damaged; left out")
            return False
        write_overlay(self.folder, row.number, data)
        return True

    def _video(self, row: Row, columns: Columns) -> int | str:
        """Return the place of a clip's video as ``clips.media`` has it."""
        placed = self.media.place(row.record)
        if placed.url is not None:
            return placed.url
        if placed.base is None:
            reason = row.text(placed.reason or "no video")
            self.without_video[reason] += 1
            return -1 - columns.reasons[reason]
        if row.name != row.record.clip:
            return self.media.bases[placed.base] + quote(os.fsencode(row.record.clip))
        return placed.base

    def _provenance(self, sources: Sequence[Source], selection: Selection) -> dict[str, Any]:
        total, shown = sum(len(source.records) for source in sources), len(selection)
        left_out = [{"reason": selection.reason, "clips": total - shown}] if shown < total else []
        for reason, clips in sorted(self.without_video.items(), key=lambda item: (-item[1], item[0])):
            left_out.append({"reason": f"no video: {reason}", "clips": clips})
        notes = [f"{shown:,} of {total:,} clips are listed; statistics are over all."] if shown < total else []
        more = len(self.warnings) - _MOST_WARNINGS
        notes += self.warnings[:_MOST_WARNINGS] + ([f"{more:,} more warnings"] if more > 0 else [])
        return {"vmmetrics": __version__, "notes": notes, "total": total, "shown": shown, "left_out": left_out}


def metrics_of(sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return the descriptions of the scores that any clip has or lacks, in order of display."""
    records = [record for source in sources for record in source.records]
    keys = in_order({metric for record in records for metric in {*record.scores, *record.missing, *record.errors}})
    indexed = any(record.motion_index is not None for record in records)
    described = {key: part for source in sources for key, part in source.run.header.get("parts", {}).items()}
    return [metric_info(key, described.get(key)) for key in ((INDEX,) if indexed else ()) + keys]


def tags_of(sources: Sequence[Source]) -> list[str]:
    """Return the names of the tags, the pattern first."""
    tags = {tag for source in sources for record in source.records for tag in record.tags}
    return sorted(tags, key=lambda tag: (tag != "pattern", tag))
