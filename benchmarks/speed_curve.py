"""What scoring faster costs: the embedded preset with less of something, on windows of footage as they are and damaged.

    python -m benchmarks.speed_curve --cache FOLDER [--variants NAME ...] [--every 2] [--processes 2] [--cached]

Each variant does less than the preset does: people found and followed on every second frame and interpolated, half of
the frames searched for people, flow at 192 pixels instead of 256, flow by the faster preset, all of these. Its cost is
that of the clip of ``benchmarks.speed`` in DIS passes at full size (CPU, median of three). Its truth are the validation
windows of ``benchmarks.clean_and_damaged``: clean ones, ``--every`` second or nth of the damaged ones, and of each kind
of defect of an object or a limb; each is compared with the same window as the preset scores it.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import cv2
import numpy as np

from benchmarks import clean_and_damaged as scored
from benchmarks.footage import by_repository, recordings
from benchmarks.footage_changes import OF_OBJECTS
from benchmarks.speed import DEFAULT_CLIP, METRICS, flow_pass, load, seconds
from vmmetrics.perception.embedded import flow
from vmmetrics.perception.embedded.pose import tracking
from vmmetrics.perception.embedded.pose.blazepose import Landmarks
from vmmetrics.scoring.suite import Suite
from vmmetrics.scoring.summary import INDEX

MEASURED = (*METRICS, INDEX)


def followed_at_half_rate(run: Callable[[tracking.PeopleTracker], list[tracking.PersonTrack]]) -> Callable[..., Any]:
    """Return a tracker's ``run`` that sees every second frame, and gives the mean of two neighbours between them."""

    def sparse(tracker: Any) -> list[tracking.PersonTrack]:
        frames = tracker._frames
        if len(frames) < 16:
            return run(tracker)
        fewest = tracker._fewest
        tracker.__init__(tracker._network, frames[::2], tracker._longest_gap / tracking.JOIN_SECONDS / 2)
        tracker._fewest = (fewest + 1) // 2
        tracks = []
        for track in run(tracker):
            poses = {2 * frame: pose for frame, pose in track.poses.items()}
            between = {frame + 1: _mean(poses[frame], poses[frame + 2]) for frame in poses if frame + 2 in poses}
            last = max(poses)
            if last + 1 < len(frames) and last + 2 >= len(frames):
                between[last + 1] = poses[last]
            tracks.append(tracking.PersonTrack(poses | between))
        return tracks

    return sparse


def _mean(before: Landmarks, after: Landmarks) -> Landmarks:
    names = ("xy", "visibility", "peak", "flag")
    return replace(before, **{name: (getattr(before, name) + getattr(after, name)) / 2 for name in names})


_SPARSE = patch.object(tracking.PeopleTracker, "run", followed_at_half_rate(tracking.PeopleTracker.run))
_PROBES = patch.multiple(tracking, PROBE_SECONDS=1.0, MIN_PROBES=2, MAX_PROBES=5)
_SMALL = patch.object(flow, "SHORT_SIDE", 192)
_FAST = patch.object(cv2, "DISOPTICAL_FLOW_PRESET_MEDIUM", cv2.DISOPTICAL_FLOW_PRESET_FAST)
VARIANTS: Mapping[str, Sequence[Any]] = {
    "preset": (),
    "poses": (_SPARSE,),
    "searches": (_PROBES,),
    "flow-192": (_SMALL,),
    "flow-fast": (_FAST,),
    "all": (_SPARSE, _PROBES, _SMALL, _FAST),
}


@contextmanager
def variant(name: str) -> Iterator[None]:
    """Score with less, as long as this lasts; processes forked meanwhile do too."""
    with ExitStack() as stack:
        for change in VARIANTS[name]:
            stack.enter_context(change)
        yield


def cost(repeat: int = 3) -> float:
    """Return the CPU seconds of the clip, models warm."""
    clip, suite = load(DEFAULT_CLIP), Suite(metrics=METRICS, threads=2)
    suite.score_clip(clip)
    return statistics.median(seconds(partial(suite.score_clip, clip))[1] for _ in range(repeat))


def jobs(every: int) -> list[scored.Job]:
    """Return the windows, clean ones first."""
    items = [item for item in recordings("validation") if item.repo != scored.UCF]
    clean = list(scored.jobs(items, (), False))
    damaged = list(scored.jobs(items, ("damage",), False))[len(clean) :]
    objects = [scored.Job(item, kind, 1.0) for n, kind in enumerate(OF_OBJECTS) for item in items[n % every :: every]]
    return [*clean, *damaged[::every], *objects]


def report(rows: Sequence[scored.Row], preset: Sequence[scored.Row]) -> None:
    """Print what a variant changes on clean windows, and how it tells them from damaged ones, beside the preset."""
    key = ("kind", "strength")
    before = {(row["item"].file, *(row[k] for k in key)): row for row in preset}
    pairs = [(before[name], row) for row in rows if (name := (row["item"].file, *(row[k] for k in key))) in before]
    clean = [pair for pair in pairs if pair[0]["kind"] == scored.CLEAN]
    for metric in MEASURED:
        both = [(a, b) for a, b in clean if a[metric] is not None and b[metric] is not None]
        change = np.array([b[metric] - a[metric] for a, b in both])
        mean = by_repository(change.tolist(), [a["item"] for a, _ in both])
        print(f"  clean {metric:13s} n {len(both)}: mean change {mean[0]:+.4f} [{mean[1]:+.4f}, {mean[2]:+.4f}], "
              f"mean |change| {np.abs(change).mean():.4f}, largest {np.abs(change).max():.3f}")  # fmt: skip
    for name, place in (("preset", 0), ("variant", 1)):
        some = [pair[place] for pair in pairs]
        fine = scored.chosen(some, kind=scored.CLEAN)
        bad = [row for row in scored.chosen(some) if row["kind"] in scored.OF_MOTION]
        areas = ", ".join(f"{metric} {scored.auc(fine, bad, metric)}" for metric in (INDEX, "cas"))
        print(f"  {name}: clean above damaged, AUC over {len(bad)}: {areas}")
        own = {row["item"].file: row["events"] for row in fine}
        made = [row for row in some if row["kind"] in OF_OBJECTS and row["item"].file in own]
        for kind in OF_OBJECTS:
            owner = "ois" if kind.startswith("limb") else "tcs"
            hits = [
                any(scored.answers(e, row, owner, own) for e in row["events"]) for row in made if row["kind"] == kind
            ]
            print(f"    {kind} {sum(hits)} of {len(hits)}", end="")
        print(f"; clean with an event {sum(bool(row['events']) for row in fine)} of {len(fine)}")


def main() -> None:
    """Score with every variant and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cached", action="store_true", help="score nothing, report what the cache has")
    options = parser.parse_args()
    todo, found = jobs(options.every), {}
    names = tuple(dict.fromkeys(["preset", *options.variants]))
    for name in names:  # before this process has threads, which forks do not survive
        cache = options.cache / name
        cache.mkdir(parents=True, exist_ok=True)
        with variant(name), ProcessPoolExecutor(options.processes) as pool:
            rows = pool.map(partial(scored.score, cache=cache, known=options.cached), todo)
            found[name] = [row for row in rows if row is not None]
    for name in names:
        unit = seconds(partial(flow_pass, load(DEFAULT_CLIP)))[1]
        with variant(name):
            whole = cost()
        print(f"{name}: {whole:.2f} CPU s, {whole / unit:.2f} flow passes", flush=True)
        report(found[name], found["preset"])


if __name__ == "__main__":
    main()
